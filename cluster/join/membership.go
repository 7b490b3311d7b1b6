package join

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/joincode"
)

// Membership says whether airgap has made this host a node, and of which
// cluster: clusters differ by the key of their authority.
type Membership struct {
	Joined  bool   `json:"joined"`
	Cluster string `json:"cluster,omitempty"` // "sha256:…"
}

// MembershipHere is MembershipOf this host.
func MembershipHere() (Membership, error) { return MembershipOf(site.ThisMachine()) }

// Write says it in one line.
func (m Membership) Write(w io.Writer) error {
	_, err := fmt.Fprintf(w, "joined %v %s\n", m.Joined, m.Cluster)
	return err
}

// MembershipOf reads on this host whether it is a node, and of which cluster.
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

// OtherCluster refuses a host that is a node of another cluster: half of what
// it has would be exchanged under its pods. With no cluster to join it is that
// one which the asking host may have been taken out of.
func OtherCluster(node string, here Membership, cluster string) error {
	if !here.Joined || here.Cluster == cluster {
		return nil
	}
	if cluster == "" {
		return advice.Add(fmt.Errorf("%s is a node of a cluster already, whose authority is %s, and this host of none", node, here.Cluster),
			"this host is to come back to that cluster? airgap join --new-code --node NAME on a control-plane host of it, then airgap join here. It is an old cluster? airgap reset on %s", node)
	}
	return advice.Add(fmt.Errorf("%s is a node of another cluster already, whose authority is %s", node, here.Cluster),
		"nobody needs that cluster any more? airgap reset on %s takes the host out of it; else take the node out of airgap.yaml", node)
}

// RefuseOtherCluster is OtherCluster for the host that is asked to join.
func RefuseOtherCluster(s *site.Site, to joincode.JoinMaterial) error {
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
