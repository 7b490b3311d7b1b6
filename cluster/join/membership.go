package join

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/jointoken"
)

// Membership says whether airgap has made this host a node, and of which
// cluster. The key of the CA identifies the cluster.
type Membership struct {
	Joined  bool   `json:"joined"`
	Cluster string `json:"cluster,omitempty"` // "sha256:…"
	Busy    string `json:"busy,omitempty"`    // the airgap command that changes the host
}

// LocalMembership is MembershipOf this host.
func LocalMembership() (Membership, error) {
	m, err := MembershipOf(site.ThisMachine())
	m.Busy = hostcheck.Busy()
	return m, err
}

// Write says it in one line.
func (m Membership) Write(w io.Writer) error {
	_, err := fmt.Fprintf(w, "joined %v %s\n", m.Joined, m.Cluster)
	return err
}

// MembershipOf returns the membership of this host.
func MembershipOf(m kubeadm.Machine) (Membership, error) {
	joined, err := m.Joined()
	if err != nil || !joined {
		return Membership{}, err
	}
	cluster, err := ClusterOf(m)
	return Membership{Joined: true, Cluster: cluster}, err
}

// ClusterOf is the cluster that the host's files belong to; "" for none.
func ClusterOf(m kubeadm.Machine) (string, error) {
	material, err := kubeadm.Material(m, kubeadm.Config{})
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return material.CAHash()
}

// OtherCluster refuses a host that is a node of another cluster: a join would replace
// parts of it under its running pods. Without a cluster to join, this may be the
// cluster that the asking host was removed from.
func OtherCluster(node string, here Membership, cluster string) error {
	if !here.Joined || here.Cluster == cluster {
		return nil
	}
	if cluster == "" {
		return advice.Add(fmt.Errorf("%s is already a node of a cluster with the CA %s, and this host is not in a cluster", node, here.Cluster),
			"to return this host to that cluster, run airgap join --new-token --node NAME on one of its control-plane hosts, then airgap join here; if it is an old cluster, run airgap reset on %s", node)
	}
	return advice.Add(fmt.Errorf("%s is already a node of another cluster with the CA %s", node, here.Cluster),
		"if that cluster is no longer needed, run airgap reset on %s; otherwise remove the node from airgap.yaml", node)
}

// RefuseOtherCluster is OtherCluster for the host that is asked to join.
func RefuseOtherCluster(s *site.Site, to jointoken.JoinMaterial) error {
	here, err := MembershipOf(s.Machine)
	if err != nil {
		return err
	}
	cluster, err := to.CAHash()
	if err != nil {
		return err
	}
	return OtherCluster(s.Node.Name, here, cluster)
}
