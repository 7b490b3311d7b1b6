package site

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/preflight/netprobe"
)

func TestParseChoice(t *testing.T) {
	for text, fine := range map[string]bool{
		`{"encapsulation":"vxlan","port":4789}`: true,
		`{"encapsulation":"native"}`:            true,
		`{"encapsulation":"vxlan","port":4789,"etcd":{"heartbeatInterval":"150ms","electionTimeout":"1.5s"}}`: true,
		`{"etcd":{"heartbeatInterval":"150ms","electionTimeout":"1.5s"}}`:                                     true,
		`{}`:                                     false,
		`{"encapsulation":"vxlan"}`:              false,
		`{"encapsulation":"ipip"}`:               false,
		`{"etcd":{"heartbeatInterval":"150ms"}}`: false,
		`{"etcd":{"heartbeatInterval":"150ms","electionTimeout":"100h"}}`:                      false,
		`{"port":4789,"etcd":{"heartbeatInterval":"150ms","electionTimeout":"1.5s"}}`:          false,
		`{"encapsulation":"native","etcd":{"heartbeatInterval":"x","electionTimeout":"1.5s"}}`: false,
	} {
		c, err := ParseChoice([]byte(text))
		if assert.Equal(t, fine, err == nil, "%s: %v", text, err); err == nil {
			files, err := c.File()
			require.NoError(t, err)
			again, err := ParseChoice(files[ChoiceName])
			require.NoError(t, err)
			assert.Equal(t, c, again)
		}
	}
}

// TestChoosing: a choice has no effect on settings of airgap.yaml, and its parts do not depend on each other.
func TestChoosing(t *testing.T) {
	at := func(encapsulation string, set kubeadm.EtcdTimes) *Site {
		return &Site{Config: &config.Cluster{Network: cni.Config{Plugin: cni.Flannel, Encapsulation: encapsulation, Port: 8472}, Kubernetes: kubeadm.Config{Etcd: set}}}
	}
	long, longer := kubeadm.EtcdTimes{HeartbeatInterval: "150ms", ElectionTimeout: "1.5s"}, kubeadm.EtcdTimes{HeartbeatInterval: "300ms", ElectionTimeout: "3s"}
	tunnel := netprobe.Choice{Encapsulation: netprobe.VXLAN, Port: 4789}
	both := &NetworkChoice{Choice: tunnel, Etcd: long}

	s := at(cni.VXLAN, longer)
	assert.Same(t, s, s.Choosing(both))
	assert.Same(t, s, s.Choosing(nil))

	s = at(cni.VXLAN, kubeadm.EtcdTimes{})
	chosen := s.Choosing(both)
	assert.Equal(t, long, chosen.Config.Kubernetes.Etcd)
	assert.Equal(t, 8472, chosen.Config.Network.Port)
	assert.Zero(t, s.Config.Kubernetes.Etcd)

	s = at(cni.Auto, kubeadm.EtcdTimes{}).Choosing(&NetworkChoice{Choice: tunnel})
	assert.True(t, s.Encapsulated())
	s = s.Choosing(&NetworkChoice{Etcd: long})
	assert.Equal(t, both, s.Choice)
	s = s.Choosing(&NetworkChoice{Etcd: longer}) // of the registry's host
	assert.Equal(t, longer, s.Config.Kubernetes.Etcd)
	assert.Equal(t, &NetworkChoice{Choice: tunnel, Etcd: longer}, s.Choice)
	assert.Equal(t, 4789, s.Config.Network.Port)

	s = at(cni.Auto, kubeadm.EtcdTimes{}).Choosing(&NetworkChoice{Etcd: long})
	assert.False(t, s.Encapsulated())
	assert.Equal(t, both, s.Choosing(&NetworkChoice{Choice: tunnel}).Choice)
}
