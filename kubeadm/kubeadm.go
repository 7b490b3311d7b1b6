// Package kubeadm turns a prepared host into a node of a cluster, and upgrades it.
//
// Its input is the section kubernetes: of airgap.yaml (Config), the Node, and the facts of its
// runtime. It returns steps with their undo: Init, Join and Restore, APIServerFiles, Permissions,
// AgreementStep. Upgrade moves a node to another version, Compliance compares a host with the CIS
// benchmark. Package release has the images and packages of each version.
//
// The package writes kubeadm's configuration, runs kubeadm and explains its failures. It changes
// only two results of kubeadm: the modes of files, and CoreDNS, with its Corefile at a site without
// name servers and the host of a pod. Only an undo resets a node that has joined (package leave).
// The package pulls no images and connects to nothing outside the cluster.
package kubeadm

import "airgap.dev/airgap/kubeadm/leave"

// Machine is the host on which the steps run.
type Machine struct{ leave.Member }
