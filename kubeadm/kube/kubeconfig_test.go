package kube

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/internal/host"
)

// TestKubeconfigProxy: the client ignores the proxy of the environment and uses the
// file's. A bank's servers have a proxy that does not reach the cluster.
func TestKubeconfigProxy(t *testing.T) {
	for name, tc := range map[string]struct{ setting, want string }{
		"none in the file": {"", ""},
		"one in the file":  {`, proxy-url: "http://jump:3128"`, "http://jump:3128"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "config")
			text := "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {}}]\n" +
				`clusters: [{name: c, cluster: {server: "https://192.0.2.11:6443"` + tc.setting + "}}]\n"
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			config, err := Kubeconfig(path)
			if err != nil {
				t.Fatal(err)
			}
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, config.Host, nil)
			if err != nil {
				t.Fatal(err)
			}
			if config.Proxy == nil {
				t.Fatal("the transport would ask the environment")
			}
			proxy, err := config.Proxy(request)
			if err != nil {
				t.Fatal(err)
			}
			if (proxy == nil) != (tc.want == "") || proxy != nil && proxy.String() != tc.want {
				t.Errorf("proxy %v, want %q", proxy, tc.want)
			}
		})
	}
}

// TestBusyClient: the drains of a batch of nodes are not limited to the usual 5 requests per second.
func TestBusyClient(t *testing.T) {
	m := host.Machine{Host: host.Local{}, Root: t.TempDir()}
	text := "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {}}]\n" +
		`clusters: [{name: c, cluster: {server: "https://192.0.2.11:6443"}}]` + "\n"
	if err := host.WriteFile(m.Path(AdminConf), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for rate, connect := range map[float32]func(host.Machine, string) (kubernetes.Interface, error){5: Client, 100: BusyClient} {
		client, err := connect(m, AdminConf)
		if err != nil {
			t.Fatal(err)
		}
		if got := client.CoreV1().RESTClient().GetRateLimiter().QPS(); got != rate {
			t.Errorf("%v requests per second, want %v", got, rate)
		}
	}
}
