// Package kubeadm turns a prepared host into a node of a cluster, and upgrades it.
//
// In flow the section kubernetes: of airgap.yaml (Config), the Node, and the facts of its runtime.
// Out flow steps with their undo: Init, Join and Restore, APIServerFiles, Permissions,
// AgreementStep. Upgrade takes a node to another version, Compliance compares a host with the CIS
// benchmark. Images and packages of a version are in package release.
//
// kubeadm does kubeadm's work: this package writes its configuration, runs it and explains its
// failures. Of what kubeadm made it changes the modes of files and, of CoreDNS, the Corefile at a
// site without name servers and the host of a pod. A node that was set up to the end is reset by an
// undo only (package leave). Nothing here pulls an image or talks to anything outside the cluster.
package kubeadm

import "airgap.dev/airgap/kubeadm/leave"

// Machine is the host that the steps change.
type Machine struct{ leave.Member }
