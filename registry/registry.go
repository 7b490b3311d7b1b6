// Package registry serves bundles inside the gap: images to container
// runtimes, RPMs to dnf, files to hosts that join, all over one TLS port.
//
// In flow opened bundles; out flow, on request, bytes that the bundle's signed
// index vouches for. The distribution engine speaks the registry protocol over
// a read-only view of the bundles, blobs are served straight from the parts.
// The package also makes what clients need to find and trust the registry: the
// certificate authority and the runtimes' mirror configuration.
//
// It never takes a push, never asks an upstream, and never hands out a blob
// that differs from its digest: a damaged chunk ends the connection.
package registry
