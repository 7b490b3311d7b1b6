// Package leave removes a host from its cluster. It deletes everything that kubeadm, the kubelet,
// the runtime and the network plugin created on the host, and nothing that existed before.
//
// Its input is the record of the host before the cluster, which the step Record writes first, and
// the artifacts of the network plugin (Traces). It provides the undo of init and join
// (Member.Leave), the list of data that a reset keeps (Data), and the removal of a node and its
// etcd member from the cluster (NodeRemoval).
package leave

import "airgap.dev/airgap/internal/host"

// Member is a host that is or was a node.
type Member struct {
	host.Machine

	Network HostArtifacts // artifacts of the network plugin on a host
	Pods    string        // pod network, in CIDR notation; an undo does not need it
	Wipe    bool          // an undo deletes etcd's data
	Alone   bool          // an undo sends nothing to the cluster, which is about to be restored
	EtcdURL string        // of this host's etcd member; "" is kubeadm's default
}

// HostArtifacts lists the host artifacts that the programs of a cluster create. No step of airgap creates
// them, so they are listed here. An artifact belongs to the cluster if it did not exist before the
// installation.
type HostArtifacts struct {
	Links  []string // network interfaces: names, or prefixes with a *
	Tables []string // names of packet filter tables that no other program uses
	Chains []string // prefixes of chain names in tables that other programs also use
	Paths  []string // files, and directories with their content
	Dirs   []string // directories that other programs may use: deleted when they are empty
	Data   []string // directories that a reset keeps unless their data is to be wiped
}
