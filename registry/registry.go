// Package registry serves bundles in the air-gapped network: images to container runtimes, RPMs to
// dnf, and files to joining hosts, all on one TLS port.
//
// It takes opened bundles, and serves only content that the signed index of a bundle lists. The
// distribution registry handles the protocol on a read-only view of the bundles. Blobs come directly
// from the parts of the bundles. The package also makes the client configuration to find and trust
// the registry: the CA and the mirror configuration of the runtimes.
//
// Users may push images of the site, under names that no bundle uses. The registry never queries an
// upstream registry. It never serves a blob that differs from its digest: a damaged chunk ends the
// connection.
package registry
