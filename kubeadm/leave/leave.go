// Package leave takes a host out of its cluster: what kubeadm, the kubelet, the runtime and the
// network plugin have made on it, and nothing that was there before.
//
// In flow the record of what the host was like before, which a step writes down first, and the
// traces of the network plugin. Out flow the undo of init and join (Member.Leave), the data that a
// reset keeps (Data), and what the cluster is told: the member of etcd that goes, the node that is
// removed.
package leave

import "airgap.dev/airgap/internal/host"

// Member is a host that is a node, or may have been one.
type Member struct {
	host.Machine

	Network Traces // what the network plugin leaves on a host
	Pods    string // network of the pods' addresses; not needed to go back
	Wipe    bool   // an undo need not keep etcd's data
	Alone   bool   // an undo asks nothing of the cluster: it is about to be another one
	EtcdURL string // of this host's own member; "" is where kubeadm has it listen
}

// Traces are what the programs of a cluster make on a host by themselves. No
// step of ours writes them, so only a list can know of them; that a thing was
// not there before is what makes it theirs.
type Traces struct {
	Links  []string // network interfaces, by name, or by its beginning and a *
	Tables []string // packet filter tables, by name, that nobody else uses
	Chains []string // beginnings of the names of their chains in tables that others use too
	Paths  []string // files, and directories with all that is in them
	Dirs   []string // directories that others may use as well: gone when they are empty
	Data   []string // directories that outlast a reset unless their data is unwanted
}
