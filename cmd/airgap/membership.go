package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/kubeadm"
)

// membership says whether airgap has made this host a node, and of which
// cluster: clusters differ by the key of their authority.
type membership struct {
	Joined  bool   `json:"joined"`
	Cluster string `json:"cluster,omitempty"` // "sha256:…"
}

// membership is what airgap install asks the other hosts before it changes
// anything.
func (a *app) membership() *cobra.Command {
	return &cobra.Command{
		Use: "membership", Short: "Say whether this host is a node, and of which cluster", Hidden: true, Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			m, err := membershipOf(thisMachine())
			if err != nil {
				return err
			}
			return a.print(m, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "joined %v %s\n", m.Joined, m.Cluster)
				return err
			})
		},
	}
}

func membershipOf(m kubeadm.Machine) (membership, error) {
	joined, err := m.Joined()
	if err != nil || !joined {
		return membership{}, err
	}
	cluster, err := clusterOf(m)
	return membership{Joined: true, Cluster: cluster}, err
}

// clusterOf is the cluster that the host's files belong to; "" for none.
func clusterOf(m kubeadm.Machine) (string, error) {
	material, err := kubeadm.Material(m, kubeadm.Config{})
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return material.CAHash()
}

// otherCluster refuses a host that is a node of another cluster: half of what
// it has would be exchanged under its pods. With no cluster to join it is that
// one which the asking host may have been taken out of.
func otherCluster(node string, here membership, cluster string) error {
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

// refuseOtherCluster is otherCluster for the host that is asked to join.
func (s *site) refuseOtherCluster(to kubeadm.JoinMaterial) error {
	here, err := membershipOf(s.machine)
	if err != nil {
		return err
	}
	cluster, err := to.CAHash()
	if err != nil {
		return err
	}
	return otherCluster(s.node.Name, here, cluster)
}
