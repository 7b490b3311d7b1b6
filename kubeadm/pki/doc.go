// Package pki renews the certificates of a cluster and rotates its CAs.
//
// Renewal renews the certificates of this host and makes each program load them, on one control-plane
// host at a time (Turn). Replacement moves all hosts from an old CA to a new one, in phases: all
// programs trust both CAs, the new CA signs, the kubelets have new certificates, no program trusts
// the old CA. An interrupted run continues where it stopped.
package pki
