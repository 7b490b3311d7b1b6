package certs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/leave"
)

const day = 24 * time.Hour

func TestWriteCertificates(t *testing.T) {
	list, err := Of(sitetest.CertificatesHost(t))
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := Write(&text, list, time.Now()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(text.String()) {
		words := strings.Fields(line)
		got = append(got, strings.Join(words[1:], " "))
	}
	want := []string{
		"REMAINING FILE PURPOSE SUBJECT ISSUER RENEWED BY",
		"expired /var/lib/kubelet/pki/kubelet.crt server certificate of the kubelet CN=node1 self-signed airgap",
		"20 days /etc/kubernetes/pki/etcd/ca.crt CA of etcd CN=etcd-ca self-signed nobody",
		"30 days /var/lib/kubelet/pki/kubelet-client-current.pem client certificate of the kubelet CN=system:node:node1 self-signed kubelet",
		"80 days /etc/kubernetes/pki/apiserver.crt server certificate of the API server CN=kube-apiserver self-signed airgap",
		"700 days /etc/airgap/pki/registry.crt server certificate of the registry CN=registry self-signed airgap",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestDueCertificates: a CA and a certificate that the kubelet renews are never due.
func TestDueCertificates(t *testing.T) {
	for within, want := range map[string][]string{
		"90d":  {"/var/lib/kubelet/pki/kubelet.crt", "/etc/kubernetes/pki/apiserver.crt"},
		"720h": {"/var/lib/kubelet/pki/kubelet.crt"},
		"800d": {"/var/lib/kubelet/pki/kubelet.crt", "/etc/kubernetes/pki/apiserver.crt", "/etc/airgap/pki/registry.crt"},
	} {
		span, err := (&RenewOptions{Within: within}).span()
		if err != nil {
			t.Fatal(err)
		}
		got, err := dueCertificates(sitetest.CertificatesHost(t), time.Now(), span)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("within %s: %v, %v, want %v", within, got, err, want)
		}
	}
	for _, wrong := range []string{"", "d", "-3d", "soon", "90"} {
		if _, err := (&RenewOptions{Within: wrong}).span(); err == nil {
			t.Errorf("--within %q: no error", wrong)
		}
	}
	if span, err := (&RenewOptions{All: true}).span(); err != nil || span < 50*365*day {
		t.Errorf("--all: %v, %v", span, err)
	}
}

// TestNotValidYet: a certificate that is not valid yet is shown. It is renewed if its CA is already valid.
func TestNotValidYet(t *testing.T) {
	now := time.Now().Add(-48 * time.Hour) // the clock was set back
	h := sitetest.FilesHost{
		"etc/kubernetes/pki/apiserver.crt": sitetest.ExpiringIn(t, "kube-apiserver", 300*day),
		"etc/kubernetes/pki/ca.crt":        sitetest.ExpiringIn(t, "an old ca", 3000*day),
	}
	list, err := Of(h)
	if err != nil {
		t.Fatal(err)
	}
	begins := time.Now().Add(-time.Hour).UTC().Format(time.DateOnly)
	var text strings.Builder
	if err := Write(&text, list, now); err != nil {
		t.Fatal(err)
	}
	if want := "valid from " + begins; !strings.Contains(text.String(), want) {
		t.Errorf("missing %q:\n%s", want, &text)
	}
	if due, err := dueCertificates(h, now, day); err != nil || len(due) > 0 {
		t.Errorf("with a CA that is not valid yet, due: %v (%v)", due, err)
	}
	delete(h, "etc/kubernetes/pki/ca.crt")
	if due, err := dueCertificates(h, now, day); err != nil || !slices.Equal(due, []string{"/etc/kubernetes/pki/apiserver.crt"}) {
		t.Errorf("due: %v (%v)", due, err)
	}
}

// TestHasUnusable: certificates that can stop the API server.
func TestHasUnusable(t *testing.T) {
	h := sitetest.FilesHost{
		"etc/kubernetes/pki/apiserver.crt":               sitetest.ExpiringIn(t, "kube-apiserver", 20*day),
		"var/lib/kubelet/pki/kubelet-client-current.pem": sitetest.ExpiringIn(t, "system:node:node1", -time.Hour),
	}
	if hasUnusable(h, time.Now()) {
		t.Error("a certificate that the kubelet renews counts")
	}
	if !hasUnusable(h, time.Now().Add(21*day)) {
		t.Error("an expired certificate does not count")
	}
	h["etc/kubernetes/pki/apiserver.crt"] = &fstest.MapFile{Data: []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")}
	if !hasUnusable(h, time.Now()) {
		t.Error("a damaged certificate does not count")
	}
}

// TestTakeTurnWithoutAPIServer: an interrupted renewal continues without a turn. A renewal that can wait does
// not start.
func TestTakeTurnWithoutAPIServer(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "etc/kubernetes"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "etc/kubernetes/admin.conf"), []byte("apiVersion: v1\nkind: Config\nusers: [{name"), 0o600); err != nil {
		t.Fatal(err)
	}
	shown := ""
	say := func(format string, args ...any) { shown = fmt.Sprintf(format, args...) }
	m := kubeadm.Machine{Member: leave.Member{Machine: host.Machine{Host: sitetest.FilesHost{"etc/kubernetes/pki/apiserver.crt": sitetest.ExpiringIn(t, "kube-apiserver", 20*day)}, Root: root}}}
	if release, err := takeTurn(t.Context(), m, true, say); err != nil || release == nil || !strings.Contains(shown, "continues without a turn") {
		t.Errorf("interrupted: %v, shown %q", err, shown)
	}
	if _, err := takeTurn(t.Context(), m, false, say); err == nil || !strings.Contains(advice.Of(err), "--alone") {
		t.Errorf("with a valid certificate: %v, the hint is %q", err, advice.Of(err))
	}
}
