package kubeadm

import (
	"strconv"
	"time"

	"airgap.dev/airgap/kubeadm/node"
)

// ElectionTimeout returns the time without a heartbeat after which members of etcd elect a leader. The
// site can set it in overrides; etcd's default is one second.
func (c Config) ElectionTimeout() time.Duration {
	set := valuesOf(c.extraArgs(node.Etcd), "election-timeout")
	if len(set) == 0 {
		return time.Second
	}
	ms, err := strconv.Atoi(set[len(set)-1])
	if err != nil || ms <= 0 {
		return time.Second // etcd refuses the value
	}
	return time.Duration(ms) * time.Millisecond
}
