package install

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/verify/apitest"
)

const cashObjects = `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shops.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Shop, plural: shops, singular: shop, listKind: ShopList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: prices}
data: {apple: "2"}
---
apiVersion: example.com/v1
kind: Shop
metadata: {name: corner}
spec: {open: true}
`

const moreObjects = "---\napiVersion: example.com/v1\nkind: Shop\nmetadata: {name: second, namespace: shop}\n"

// theseAddons are add-ons with these objects, in a cluster.
func theseAddons(api func() (*rest.Config, error), texts ...string) addons {
	files := map[string]string{}
	a := addons{connect: api}
	for i, text := range texts {
		name := []string{"cash", "more"}[i]
		sum := sha256.Sum256([]byte(text))
		one := bundle.Addon{Name: name, Namespace: []string{"shop", "default"}[i], Path: "manifests/" + name + ".yaml", Size: int64(len(text)), SHA256: hex.EncodeToString(sum[:])}
		a.locked, files[one.Path] = append(a.locked, one), text
	}
	a.read = func(_ context.Context, path string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(files[path])), nil
	}
	return a
}

// TestAddonStep runs the step against a real API server: no object exists before,
// all exist after, a second run writes nothing, and drift is corrected.
func TestAddonStep(t *testing.T) {
	server := apitest.Start(t)
	api := func() (*rest.Config, error) { return server.Config, nil }
	s := theseAddons(api, cashObjects, moreObjects).step()
	if s.Title != "Install the add-ons (cash, more)" {
		t.Errorf("title is %q", s.Title)
	}
	wantPlan(t, s, "apply CustomResourceDefinition shops.example.com", "apply Namespace shop", "apply ConfigMap prices", "apply Shop corner", "apply Shop shop/second")
	wantHolds(t, s, false)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantHolds(t, s, true)
	wantPlan(t, s)
	maps := server.Client(t).CoreV1().ConfigMaps("shop")
	before, err := maps.Get(t.Context(), "prices", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after, err := maps.Get(t.Context(), "prices", metav1.GetOptions{}); err != nil || after.ResourceVersion != before.ResourceVersion {
		t.Errorf("a second run wrote prices (%v)", err)
	}
	if err := maps.Delete(t.Context(), "prices", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	wantHolds(t, s, false)
	wantPlan(t, s, "apply ConfigMap prices")
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantHolds(t, s, true)
}

// TestDefinitionsFirst: a chart uses a kind that an add-on behind its own defines.
func TestDefinitionsFirst(t *testing.T) {
	server := apitest.Start(t)
	api := func() (*rest.Config, error) { return server.Config, nil }
	s := theseAddons(api, strings.ReplaceAll(moreObjects, "namespace: shop", "namespace: default"), cashObjects).step()
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantHolds(t, s, true)
}

// TestAddonStepTells which add-on and which object it was.
func TestAddonStepTells(t *testing.T) {
	server := apitest.Start(t)
	api := func() (*rest.Config, error) { return server.Config, nil }
	s := theseAddons(api, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n").step()
	err := s.Run(t.Context())
	if !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "add-on cash: apply ConfigMap a: ") {
		t.Errorf("without its namespace: %v", err)
	}
	a := theseAddons(api, cashObjects)
	a.locked[0].SHA256 = strings.Repeat("0", 64)
	if err := a.step().Run(t.Context()); err == nil || !strings.Contains(err.Error(), "add-on cash: read manifests/cash.yaml: its SHA-256 is not the locked one") {
		t.Errorf("with other bytes: %v", err)
	}
}

// TestAddonPlan lists everything while there is no cluster.
func TestAddonPlan(t *testing.T) {
	none := errors.New("no cluster yet")
	s := theseAddons(func() (*rest.Config, error) { return nil, none }, cashObjects).step()
	changes, err := s.Plan(t.Context())
	if !errors.Is(err, none) || len(changes) != 4 || changes[3] != "apply Shop corner" {
		t.Errorf("got %q, %v", changes, err)
	}
	if _, err := s.Done(t.Context()); !errors.Is(err, none) {
		t.Errorf("done: %v", err)
	}
}

func TestNoAddonsNoStep(t *testing.T) {
	s := &site.Site{Index: &bundle.Index{}}
	if steps := addonSteps(s, nil); len(steps) != 0 {
		t.Errorf("got %d steps", len(steps))
	}
}

func wantHolds(t *testing.T, s step.Step, want bool) {
	t.Helper()
	if got, err := s.Done(t.Context()); err != nil || got != want {
		t.Errorf("holds is %v (%v), want %v", got, err, want)
	}
}

func wantPlan(t *testing.T, s step.Step, want ...string) {
	t.Helper()
	if got, err := s.Plan(t.Context()); err != nil || !slices.Equal(got, want) {
		t.Errorf("plan is %q (%v), want %q", got, err, want)
	}
}
