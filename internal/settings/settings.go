// Package settings changes the settings of a host that a node needs, and takes them back: kernel
// modules and parameters, swap, firewalld, NetworkManager.
//
// In flow the section hostSettings: of airgap.yaml, the ports of a node (Listens), and the
// host.Machine. Out flow steps with their undo, which know what was there before from a record
// below host.UndoDir, and the parameters that have drifted (DriftedSysctls). Nothing here knows of
// kubeadm or of a cluster.
package settings
