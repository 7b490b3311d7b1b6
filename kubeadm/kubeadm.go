// Package kubeadm turns a prepared host into a node of a cluster, and upgrades it.
//
// In flow the sections kubernetes: and runtime: of airgap.yaml, what was observed of the host, and
// the files of the bundle. Out flow what the bundle has to hold (Images, Files, Packages), the table
// of ports (Listens), and steps with their undo: init or join, files of the API server, modes of
// files; Compliance, which compares a host with the CIS benchmark; Upgrade.
//
// kubeadm does kubeadm's work: this package writes its configuration, runs it and explains its
// failures. Of what kubeadm made it changes the modes of files and, of CoreDNS, the Corefile at a
// site without name servers and the host of a pod. A node that was set up to the end is reset by an
// undo only (package leave). Nothing here pulls an image or talks to anything outside the cluster.
package kubeadm

import "airgap.dev/airgap/kubeadm/leave"

// Machine is the host that the steps change.
type Machine struct{ leave.Member }
