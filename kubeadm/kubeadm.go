// Package kubeadm turns a prepared host into a node of a cluster, looks after
// it, and takes it back.
//
// In flow the sections kubernetes:, runtime: and hostSettings: of airgap.yaml,
// what was observed of the host, and the files of the bundle. Out flow what the
// bundle has to hold (Images, Files, Packages, PackageRepository), the table of
// ports (Listens), and steps with their undo: kernel modules and parameters,
// swap, firewalld, NetworkManager, SELinux, fapolicyd; the runtime; init or
// join; modes of files, cgroup agreement. In a cluster that stands IssueCode lets
// a host in, Compliance tells what a host has of the baseline, Rotation replaces
// the key of the Secrets, Renewal makes certificates anew, and Replacement an
// authority.
//
// kubeadm does kubeadm's work: this package writes its configuration, runs it
// and explains its failures. Of what kubeadm made it changes the modes of files,
// authorities that are replaced and, of CoreDNS, the Corefile at a site without
// name servers and the host of a pod. A node that was set up to the end is reset by
// an undo only. Nothing here pulls an image or talks to anything outside the cluster.
package kubeadm

import "airgap.dev/airgap/kubeadm/leave"

// Machine is the host that the steps change.
type Machine struct{ leave.Member }
