package kubeadm

import (
	"errors"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/kubeadm/etcd"
	"airgap.dev/airgap/kubeadm/leave"
	"airgap.dev/airgap/verify/apitest"
)

func TestLocalEtcd(t *testing.T) {
	f, m := newFake(t)
	if _, err := m.LocalEtcd(); !errors.Is(err, leave.ErrNoEtcd) {
		t.Errorf("on a worker: got %v, want ErrNoEtcd", err)
	}
	f.Put(t, "etc/kubernetes/manifests/etcd.yaml", "")
	if _, err := m.LocalEtcd(); err == nil || !strings.Contains(err.Error(), "read etcd's CA: ") {
		t.Errorf("without its keys: got %v, want an error for the CA", err)
	}
}

// TestFullEtcdKeepsNodes: no node can leave a cluster while etcd refuses writes.
func TestFullEtcdKeepsNodes(t *testing.T) {
	url := apitest.Start(t).Etcd()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{url}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	raise := &pb.AlarmRequest{Action: pb.AlarmRequest_ACTIVATE, Alarm: pb.AlarmType_NOSPACE}
	if _, err := pb.NewMaintenanceClient(client.ActiveConnection()).Alarm(t.Context(), raise); err != nil {
		t.Fatal(err)
	}
	d := &leave.NodeRemoval{Name: "w1", Etcd: &etcd.Client{URL: url}}
	if err := d.Allowed(t.Context(), false); err == nil || !strings.Contains(err.Error(), "NOSPACE") || !strings.Contains(advice.Of(err), "defrag") {
		t.Errorf("got %v, advice %q", err, advice.Of(err))
	}
}
