// Package registry serves bundles in the air-gapped network: images to container runtimes, RPMs to
// dnf, and files to joining hosts, all on one TLS port.
//
// It takes opened bundles, and serves only content that the signed index of a bundle lists. The
// distribution registry handles the protocol on a read-only view of the bundles. Blobs come directly
// from the parts of the bundles. Package mirror makes the runtimes use the registry, and package trust
// its certificates. A registry that the site already has is package existing.
//
// Users may push images of the site, under names that no bundle uses. The registry never queries an
// upstream registry. It never serves a blob that differs from its digest: a damaged chunk ends the
// connection.
package registry
