package verification

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
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

// TestLeftOutNodes: verify gets the nodes that a command goes on without.
func TestLeftOutNodes(t *testing.T) {
	dir := t.TempDir()
	o := Options{Kubeconfig: filepath.Join(dir, "kubeconfig"), CA: filepath.Join(dir, "ca.crt"), LeftOut: []string{"w3"}, SystemOnly: true}
	for file, data := range map[string][]byte{o.Kubeconfig: []byte(sitetest.Kubeconfig("https://192.0.2.1:6443")), o.CA: sitetest.ExpiringIn(t, "ca", time.Hour).Data} {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := sitetest.ClusterFrom(t)
	v, err := Verification(&site.Site{Config: c, Node: c.Nodes[0], Nodes: c.Nodes}, o, ui.Discard())
	if err != nil || !slices.Equal(v.LeftOut, o.LeftOut) {
		t.Errorf("verify leaves out %q, %v", v.LeftOut, err)
	}
}
