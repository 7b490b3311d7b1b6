package preflight

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/preflight/facts"
)

// TestAdvice records hints that depend on the host. Each line in the golden file was compared
// with the behavior of the commands; compare it again when it changes.
func TestAdvice(t *testing.T) {
	el := func(version string, f facts.Facts) *facts.Facts {
		f.OS = facts.OS{ID: "rocky", Version: version}
		return &f
	}
	now := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	expires := func(path string, days int) *facts.Facts {
		return &facts.Facts{Time: facts.Time{Now: now}, Certificates: []facts.Certificate{
			{Path: path, NotAfter: now.AddDate(0, 0, days)}, {Path: "/etc/kubernetes/pki/front-proxy-client.crt", NotAfter: now.AddDate(0, 0, 300)},
		}}
	}
	gpu := func(w Want) Want { w.Roles = []Role{GPU}; return w }
	secure := &facts.Facts{SecureBoot: facts.SecureBoot{On: true}}
	var text bytes.Buffer
	for _, c := range []struct {
		name  string
		check Check
		facts *facts.Facts
		want  Want
	}{
		{"calico and firewalld", firewalld, &facts.Facts{Units: []facts.Unit{{Name: "firewalld.service", State: "active", Enabled: "enabled"}}}, Want{Network: network("calico")}},
		{"EL 8 without programs", requiredTools, el("8.10", facts.Facts{}), Want{}},
		{"EL 9 without programs", requiredTools, el("9.6", facts.Facts{}), Want{}},
		{"localhost", hostname, &facts.Facts{Host: "localhost"}, Want{}},
		{"a clock without synchronization", timeSync, &facts.Facts{}, Want{}},
		{"kubeadm's certificate", certExpiry, expires("/etc/kubernetes/pki/apiserver.crt", 50), Want{Managed: true}},
		{"the kubelet's certificate", certExpiry, expires("/var/lib/kubelet/pki/kubelet-client-current.pem", 5), Want{Managed: true}},
		{"a CA certificate", certExpiry, expires("/etc/kubernetes/pki/etcd/ca.crt", 50), Want{Managed: true}},
		{"Secure Boot and DKMS", secureBoot, secure, gpu(Want{Packages: []string{"kmod-nvidia-open-dkms"}})},
		{"Secure Boot and NVIDIA's installer", secureBoot, secure, gpu(Want{Installer: true})},
		{"Secure Boot and a vendor's modules", secureBoot, secure, gpu(Want{})},
		{"signatures without Secure Boot", secureBoot, &facts.Facts{SecureBoot: facts.SecureBoot{Lockdown: "integrity"}, Kernel: facts.Kernel{Cmdline: "ro module.sig_enforce=1 lockdown=integrity"}},
			gpu(Want{Packages: []string{"kmod-nvidia-open-dkms"}})},
		{"a kernel that enforces signatures", secureBoot, &facts.Facts{SecureBoot: facts.SecureBoot{Enforced: true}}, gpu(Want{})},
	} {
		r := c.check.Run(c.facts, &c.want)
		fmt.Fprintf(&text, "%s: %s: %s\n  %s\n", c.name, r.Status, r.Found, r.Fix)
	}
	path := filepath.Join("testdata/golden", "advice.txt")
	if *update {
		if err := host.WriteFile(path, text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text.Bytes(), want) {
		t.Errorf("%s differs (go test ./preflight -update writes it again):\n%s", path, text.Bytes())
	}
}
