package kubeadm

import (
	"errors"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/node"
)

func TestSameEndpoint(t *testing.T) {
	f, m := newFake(t)
	f.Put(t, node.StateFile, "ended\n")
	f.Put(t, kube.AdminConf, "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: c}}]\nclusters: [{name: c, cluster: {server: 'https://10.0.0.5:6443'}}]\n")
	if err := SameEndpoint(m, Config{ControlPlaneEndpoint: "10.0.0.5:6443"}); err != nil {
		t.Error(err)
	}
	err := SameEndpoint(m, Config{ControlPlaneEndpoint: "10.0.0.6:6443"})
	if failure, is := errors.AsType[*host.Failure](err); !is || !strings.Contains(failure.Hint(), "10.0.0.5:6443") {
		t.Errorf("got %v", err)
	}
}
