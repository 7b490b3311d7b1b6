// Package settings changes the settings of a host that a node needs, and takes them back: kernel
// modules and parameters, swap, firewalld, NetworkManager.
//
// In flow the section hostSettings: of airgap.yaml, the ports of a node (Listens), and the
// host.Machine. Out flow steps with their undo, which read the previous state from a record
// below host.UndoDir, and the parameters that have drifted (DriftedSysctls). Nothing here depends on
// kubeadm or a cluster.
package settings
