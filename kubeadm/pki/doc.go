// Package pki renews the certificates of a cluster and replaces its authorities.
//
// Renewal renews the certificates of this host and has each program load them, one control-plane
// host at a time (Turn). Replacement takes all hosts from an old authority to a new one, in phases:
// both are trusted, the new one signs, the kubelets have new certificates, the old one is trusted by
// nobody. An interrupted run goes on where it was.
package pki
