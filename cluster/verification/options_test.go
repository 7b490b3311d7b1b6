package verification

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/verify/result"
)

// TestLookingIn: an image under a registry's address exists under
// the name after the address.
func TestLookingIn(t *testing.T) {
	for repository, want := range map[string]string{
		"10.0.0.1:5000/team/hello": "team/hello", "10.0.0.2:5000/hello": "hello",
		"registry.k8s.io/pause": "registry.k8s.io/pause", "10.0.0.3:5000/team/hello": "10.0.0.3:5000/team/hello",
	} {
		exists := lookingIn([]string{"10.0.0.1:5000", "10.0.0.2:5000"}, func(_ context.Context, asked, _ string) (bool, error) { return asked == want, nil })
		if found, err := exists(t.Context(), repository, "sha256:0"); !found || err != nil {
			t.Errorf("%s is not asked for as %s", repository, want)
		}
	}
}

// TestBaselineOfNamespaces: the comparison covers the saved data of the same namespaces.
func TestBaselineOfNamespaces(t *testing.T) {
	file := filepath.Join(t.TempDir(), "before.json")
	empty := result.Snapshot{Nodes: map[string]result.NodeState{}, Workloads: map[string]result.WorkloadState{}, Containers: map[string]result.ContainerState{}}
	b := result.Baseline{APIVersion: "airgap.dev/v1alpha1", Kind: "VerifyBaseline", Cluster: "x", Taken: time.Now(), Namespaces: []string{"app", "shop"}, Snapshot: empty}
	if err := host.Write(file, 0o644, b.Write); err != nil {
		t.Fatal(err)
	}
	for scope, says := range map[string]string{"app shop": "", "": "it is of the namespaces app, shop, this is to be of the whole cluster", "app": "this is to be of the namespaces app"} {
		_, err := (&Modes{Baseline: CompareBaseline, File: file, Scope: strings.Fields(scope)}).Before()
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("of %q: %v, want %q", scope, err, says)
		}
	}
}
