package upgrade

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"math/big"
	"path/filepath"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/leave"
	"airgap.dev/airgap/verify/apitest"
)

// keyPair returns a self-signed certificate and its key.
func keyPair(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	certificate = sitetest.PEM(t, "CERTIFICATE", der, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	return certificate, sitetest.PEM(t, "PRIVATE KEY", secret, err)
}

func putFiles(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := host.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// hostWithFullEtcd returns a host with an etcd member that has raised the NOSPACE alarm.
func hostWithFullEtcd(t *testing.T) kubeadm.Machine {
	t.Helper()
	m := kubeadm.Machine{Member: leave.Member{Machine: host.Machine{Host: host.Local{}, Root: t.TempDir()}, EtcdURL: apitest.Start(t).Etcd()}}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{m.EtcdURL}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	alarm := &pb.AlarmRequest{Action: pb.AlarmRequest_ACTIVATE, Alarm: pb.AlarmType_NOSPACE}
	if _, err := pb.NewMaintenanceClient(client.ActiveConnection()).Alarm(t.Context(), alarm); err != nil {
		t.Fatal(err)
	}
	certificate, key := keyPair(t)
	putFiles(t, m.Root, map[string]string{
		"/etc/kubernetes/manifests/etcd.yaml":             "kind: Pod\n",
		"/etc/kubernetes/pki/etcd/ca.crt":                 certificate,
		"/etc/kubernetes/pki/etcd/healthcheck-client.crt": certificate,
		"/etc/kubernetes/pki/etcd/healthcheck-client.key": key,
	})
	return m
}

// TestFullEtcdBlocksTheUpgrade: a full etcd is an error before all other checks.
func TestFullEtcdBlocksTheUpgrade(t *testing.T) {
	u := &upgrade{rollout: rollout{site: &site.Site{Config: sitetest.ClusterFrom(t), Machine: hostWithFullEtcd(t)}, p: ui.Discard()}}
	err := u.checkCluster(t.Context())
	if err == nil || !strings.Contains(err.Error(), "etcd is full") || !strings.Contains(advice.Of(err), "alarm disarm") {
		t.Errorf("got %v, advice %q", err, advice.Of(err))
	}
}
