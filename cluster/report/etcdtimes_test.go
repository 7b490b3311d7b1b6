package report

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/leave"
	"airgap.dev/airgap/verify/nodereport"
)

// TestMemberTimes: the times are those in the manifest of etcd, also in its variables, or etcd's defaults.
func TestMemberTimes(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: etcd}\nspec:\n  containers:\n  - name: etcd\n    command: [etcd, --name=cp1"
	for manifest, want := range map[string]*nodereport.EtcdTimes{
		"":        nil,
		pod + "]": {Heartbeat: 100, Election: 1000},
		pod + ", --heartbeat-interval=150, --election-timeout=1500]":                                 {Heartbeat: 150, Election: 1500},
		pod + ", --heartbeat-interval=150]\n    env: [{name: ETCD_ELECTION_TIMEOUT, value: '1600'}]": {Heartbeat: 150, Election: 1600},
		pod + ", --heartbeat-interval=soon, --election-timeout=-7]":                                  {},
	} {
		f, m := hosttest.New(t)
		if manifest != "" {
			f.Put(t, "etc/kubernetes/manifests/etcd.yaml", manifest)
		}
		assert.Equal(t, want, memberTimes(kubeadm.Machine{Member: leave.Member{Machine: m}}), manifest)
	}
}
