// Package node knows a host that kubeadm has made a node: how far kubeadm came (StateOf), its name,
// its kubelet and its static pods, and runs kubeadm on it (Kubeadm).
//
// Paths come before host.Machine.Root. The state file tells an interrupted init or join, which may
// be reset, from a node that has work to lose.
package node
