package runtime

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
)

// TestDNSPods reads the answers of containerd, and of CRI-O, which reports only the mounted file.
func TestDNSPods(t *testing.T) {
	for name, tc := range map[string]struct {
		inspect string
		want    []string
		err     string
	}{
		"containerd": {`{"info":{"config":{"dns_config":{"servers":["10.0.0.1","10.0.0.2"]}},"runtimeSpec":{"mounts":[{"destination":"/etc/resolv.conf","source":"/gone"}]}}}`,
			[]string{"10.0.0.1", "10.0.0.2"}, ""},
		"CRI-O":    {`{"info":{"runtimeSpec":{"mounts":[{"destination":"/proc"},{"destination":"/etc/resolv.conf","source":"/run/pod/resolv.conf"}]}}}`, []string{"10.0.0.3"}, ""},
		"neither":  {`{"info":{}}`, nil, "does not report its name servers"},
		"not JSON": {`x`, nil, "inspect pod coredns-1"},
	} {
		t.Run(name, func(t *testing.T) {
			f, m := hosttest.New(t)
			file := m.Path("/run/pod/resolv.conf")
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte("search a.example\nnameserver 10.0.0.3\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			crictl := "crictl --runtime-endpoint unix://" + containerd().socket
			f.Answers[crictl+" pods"] = func(host.Cmd) ([]byte, error) {
				return []byte(`{"items":[{"id":"abc","metadata":{"name":"coredns-1"}}]}`), nil
			}
			f.Answers[crictl+" inspectp --output json abc"] = func(host.Cmd) ([]byte, error) { return []byte(tc.inspect), nil }
			pods, err := DNSPods(t.Context(), m)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("got %v, want %q", err, tc.err)
				}
				return
			}
			if err != nil || len(pods) != 1 || pods[0].Name != "coredns-1" || !slices.Equal(pods[0].NameServers, tc.want) {
				t.Errorf("got %+v, %v", pods, err)
			}
		})
	}
}
