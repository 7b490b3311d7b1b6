package upgrade

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/leave"
	"airgap.dev/airgap/registry"
)

const kubePKI = "/etc/kubernetes/pki/"

// upgradableHost returns the files of a first control-plane host that can be upgraded, by their paths.
func upgradableHost(t *testing.T) map[string]string {
	t.Helper()
	pod := func(image, arg string) string {
		return "kind: Pod\nspec: {containers: [{image: '" + image + "', command: [prog, '" + arg + "']}]}\n"
	}
	files := map[string]string{
		"/etc/kubernetes/manifests/kube-apiserver.yaml":          pod("registry.k8s.io/kube-apiserver:v1.35.8", "--service-cluster-ip-range=10.96.0.0/16"),
		"/etc/kubernetes/manifests/kube-controller-manager.yaml": pod("registry.k8s.io/kube-controller-manager:v1.35.8", "--cluster-cidr=10.244.0.0/16"),
		"/etc/kubernetes/manifests/etcd.yaml":                    pod("registry.k8s.io/etcd:3.6.6-0", "--name=cp1"),
		kube.AdminConf:                                           sitetest.Kubeconfig("https://k8s.bank.example:6443"),
	}
	for _, name := range []string{kubePKI + "ca", kubePKI + "front-proxy-ca", kubePKI + "etcd/ca", site.PKIDir + "/ca"} {
		files[name+".crt"], files[name+".key"] = keyPair(t)
	}
	certificate, key := keyPair(t)
	block, _ := pem.Decode([]byte(certificate))
	parsed, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(parsed.PublicKey)
	files[kubePKI+"sa.pub"], files[kubePKI+"sa.key"] = sitetest.PEM(t, "PUBLIC KEY", public, err), key
	return files
}

// TestRollbackBlocked: the reasons that would block airgap rollback are found before any change.
func TestRollbackBlocked(t *testing.T) {
	for _, tc := range []struct {
		name  string
		more  string            // in the section kubernetes of the cluster's airgap.yaml
		files map[string]string // "" removes the file
		says  string
	}{
		{"possible", "", nil, ""},
		{"the CA's key is stored elsewhere", "", map[string]string{kubePKI + "ca.key": ""}, "ca.key"},
		{"a key that does not match", "", map[string]string{kubePKI + "etcd/ca.key": upgradableHost(t)[kubePKI+"ca.key"]}, "etcd/ca"},
		{"the key of the registry's CA is missing", "", map[string]string{site.PKIDir + "/ca.key": ""}, "read the key of the registry's CA"},
		{"Secrets that would be unreadable", "", map[string]string{
			"/etc/kubernetes/manifests/kube-apiserver.yaml": "kind: Pod\nspec: {containers: [{image: 'a:v1.35.8', " +
				"command: [prog, --service-cluster-ip-range=10.96.0.0/16, --encryption-provider-config=/e]}]}\n",
		}, "encryption"},
		{"etcd data in another directory", "overrides: {clusterConfiguration: {etcd: {local: {dataDir: /data/etcd}}}}, ", nil, "which airgap does not restore"},
		{"another pod network than in the bundle", "podSubnet: 10.99.0.0/16, ", nil, "the pod network was 10.244.0.0/16"},
		{"no manifest", "", map[string]string{"/etc/kubernetes/manifests/etcd.yaml": ""}, "read the cluster's identity"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := kubeadm.Machine{Member: leave.Member{Machine: host.Machine{Root: t.TempDir()}}}
			putFiles(t, m.Root, upgradableHost(t))
			putFiles(t, m.Root, tc.files)
			for name, text := range tc.files {
				if text == "" {
					if err := os.Remove(filepath.Join(m.Root, name)); err != nil {
						t.Fatal(err)
					}
				}
			}
			u := &upgrade{rollout: rollout{site: &site.Site{Machine: m}}, old: &site.Site{Config: sitetest.ClusterFrom(t, "kubernetes: {", "kubernetes: {encryptionAtRest: none, "+tc.more)}}
			err := u.rollbackBlocked()
			if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v, want %q", err, tc.says)
			}
			if note := u.rollbackNote(); strings.HasPrefix(note, "airgap rollback restores ") != (tc.says == "") {
				t.Errorf("a dry run shows %q", note)
			}
		})
	}
}

// TestBackupNeedsSpace: a host with etcd keeps a copy of it before its upgrade, and preflight checks the
// free space for that.
func TestBackupNeedsSpace(t *testing.T) {
	s := sitetest.SettingsSite(t, "")
	s.Machine.Root = t.TempDir()
	for _, size := range []int64{0, 5 << 30} {
		if size > 0 {
			putFiles(t, s.Machine.Root, map[string]string{"/var/lib/etcd/member/snap/db": ""})
			if err := os.Truncate(filepath.Join(s.Machine.Root, "/var/lib/etcd/member/snap/db"), size); err != nil {
				t.Fatal(err)
			}
		}
		if w, err := hostcheck.Want(s, true); err != nil || (w.BackupBytes > size) != (size > 0) {
			t.Errorf("with an etcd of %d bytes: %d bytes required, %v", size, w.BackupBytes, err)
		}
	}
}

// TestInstalledBundleIsMissing: an upgrade needs the complete installed bundle in the store, because airgap
// rollback installs from it.
func TestInstalledBundleIsMissing(t *testing.T) {
	f, store := bundletest.New(t), registry.Store{Dir: t.TempDir()}
	old := f.Open(t)
	of := func(i *bundle.Index) bool { return i.ID() == old.ID() }
	keys := []*ecdsa.PublicKey{&f.Key.PublicKey}
	missing := func(when string) {
		t.Helper()
		if _, err := site.StoredIndex(store, keys, of); err == nil || !strings.Contains(err.Error(), "it is not in "+store.Dir) || !strings.Contains(advice.Of(err), "airgap registry import DIR") {
			t.Errorf("%s: %v, hint %q", when, err, advice.Of(err))
		}
	}
	missing("never imported")
	if _, err := store.Import(t.Context(), old, ui.Discard(), keys...); err != nil {
		t.Fatal(err)
	}
	if index, err := site.StoredIndex(store, keys, of); err != nil || index.ID() != old.ID() {
		t.Errorf("imported: %v", err)
	}
	parts, err := filepath.Glob(filepath.Join(store.Dir, "*", "bundle.tar.*"))
	if err != nil || len(parts) == 0 {
		t.Fatalf("parts: %v, %v", parts, err)
	}
	if err := os.Truncate(parts[len(parts)-1], 1); err != nil {
		t.Fatal(err)
	}
	missing("truncated")
}
