package upgrade

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
)

// apiServer returns a client of an API server with these answers by path.
func apiServer(t *testing.T, answers map[string]string) kubernetes.Interface {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, answers[r.URL.Path])
	}))
	t.Cleanup(server.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestCheckVersions: the error for a bundle, and the bundle that must come first.
func TestCheckVersions(t *testing.T) {
	for _, tc := range []struct{ name, api, kubelet, says, next string }{
		{"the next minor", "v1.35.8", "v1.35.8", "", ""},
		{"a patch", "v1.36.0", "v1.36.0", "", ""},
		{"an interrupted upgrade", "v1.36.3", "v1.35.8", "", ""},
		{"two minors ahead", "v1.34.9", "v1.34.9", "upgrade Kubernetes 1.34.9 to 1.36.3: a cluster goes up one minor at a time: 1.35 comes next",
			"build a bundle with kubernetes.version 1.35, upgrade to that, and then with this one"},
		{"an older kubelet", "v1.35.8", "v1.34.9", "node w1: upgrade Kubernetes 1.34.9 to 1.36.3", "build a bundle with kubernetes.version 1.35"},
		{"an older bundle", "v1.37.0", "v1.37.0", "1.36.3 is older", "airgap rollback"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var node corev1.Node
			node.Status.NodeInfo.KubeletVersion = tc.kubelet
			u := &upgrade{rollout: rollout{
				site:   &site.Site{Config: sitetest.ClusterFrom(t, "1.35.8", "1.36.3")},
				client: apiServer(t, map[string]string{"/version": fmt.Sprintf(`{"gitVersion":%q}`, tc.api)}),
				nodes:  map[string]corev1.Node{"w1": node},
			}}
			err := u.checkVersions(t.Context())
			if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v, want %q", err, tc.says)
			}
			if next := advice.Of(err); !strings.Contains(next, tc.next) || tc.next == "" && next != "" {
				t.Errorf("the hint is %q, want %q", next, tc.next)
			}
		})
	}
}

// TestWaitError: the upgrade stops at a host that does not become ready. The error names the host,
// and the hint has the commands to find the cause.
func TestWaitError(t *testing.T) {
	const node = `{"apiVersion":"v1","kind":"Node","metadata":{"name":"w1"},"status":{"nodeInfo":{"kubeletVersion":"v1.36.3"},"conditions":[{"type":"Ready","status":"Unknown"}]}}`
	u := &upgrade{rollout: rollout{
		target: "id", site: &site.Site{Config: sitetest.ClusterFrom(t, "1.35.8", "1.36.3")},
		client: apiServer(t, map[string]string{"/api/v1/nodes/w1": node}), p: ui.Discard(),
	}}
	hosts := []config.Node{{Name: "w1"}}
	err := advice.Add(u.await(t.Context(), hosts, u.upgraded, 300*time.Millisecond), "as airgap upgrade adds it")
	if _, is := errors.AsType[*host.Failure](err); !is || !strings.Contains(err.Error(), "wait 300ms for the upgraded host to become ready: w1: it is not ready") {
		t.Errorf("got %v", err)
	}
	if next := advice.Of(err); !strings.Contains(next, "journalctl -u kubelet") || !strings.Contains(next, "airgap rollback") {
		t.Errorf("the hint is %q", next)
	}
	interrupted, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := u.await(interrupted, hosts, u.upgraded, time.Hour); !errors.Is(err, context.DeadlineExceeded) || advice.Of(err) != "" {
		t.Errorf("interrupted: %v, hint %q", err, advice.Of(err))
	}
}
