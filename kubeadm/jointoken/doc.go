// Package jointoken lets one host into a cluster as one node.
//
// A control-plane host creates a join token for a node's name and role (Issue). With it the
// joining host requests the node's certificate (Entry.Admit), which the Approver approves only for
// that name, role and token. A control-plane host also gets the cluster's keys, encrypted with a
// part of the token (ValidatedToken.ControlPlaneSecrets). The token contains a hash of the cluster's CA, and the host
// sends nothing to a cluster with another CA.
package jointoken
