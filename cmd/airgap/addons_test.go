package main

import (
	"bytes"
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
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
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

// TestAddonStep runs the step against a real API server: nothing holds before,
// everything after, a second run writes nothing, and drift is put right.
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
	s := &site{index: &bundle.Index{}}
	if steps := s.addonSteps(nil); len(steps) != 0 {
		t.Errorf("got %d steps", len(steps))
	}
}

// TestProof prints who needs what and ends with the sums.
func TestProof(t *testing.T) {
	blob := bundle.Blob{Digest: "sha256:aa", Size: 1 << 20}
	p := proofOf(&bundle.Plan{Lock: bundle.Lock{
		Images:    []bundle.Image{{Name: "quay.io/shop/till:1", Digest: "sha256:aa", NeededBy: []string{"add-on cash: Deployment shop/cash, container till", "images.list"}, Blobs: []bundle.Blob{blob}}, {Name: "quay.io/shop/till:again", Digest: "sha256:aa", Blobs: []bundle.Blob{blob}}},
		Packages:  []bundle.Package{{NEVRA: "socat-0:1-1.x86_64", SHA256: "bb", Size: 10, NeededBy: []string{"kubernetes"}, Hosts: []string{"db1"}}},
		Files:     []bundle.File{{Name: "runc", SHA256: "cc", Size: 20, NeededBy: []string{"runtime runc"}}},
		Addons:    []bundle.Addon{{Name: "cash", Size: 5, Chart: &bundle.Chart{Name: "till", Version: "1.2.3", Digest: "sha256:dd", Size: 7}, Sources: []bundle.Source{{URL: "https://web.example/a.yaml", SHA256: "ee"}}}},
		Manifests: []bundle.Source{{URL: "https://web.example/b.yaml", SHA256: "ff"}},
	}})
	if want := (sums{References: 7, Bytes: 1<<20 + 10 + 20 + 5 + 7, AllResolved: true}); p.ClosedWorld != want {
		t.Errorf("sums are %+v, want %+v", p.ClosedWorld, want)
	}
	var text bytes.Buffer
	p.list(&text)
	if err := p.sum(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"image    quay.io/shop/till:1\n           sha256:aa, 1.0 MB\n           for add-on cash: Deployment shop/cash, container till\n           for images.list\n",
		"sha256:bb, 10 B, on db1 only\n           for kubernetes\n",
		"chart    till 1.2.3\n           sha256:dd, 7 B\n           for add-on cash\n",
		"manifest https://web.example/a.yaml\n           sha256:ee\n           for add-on cash\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	if !strings.HasSuffix(text.String(), "\nclosed world: 7 references, all resolved; 1.0 MB in all\n") {
		t.Errorf("it ends otherwise:\n%s", text.String())
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

// TestProofOfThreeClasses: what only looks like an image is marked, what is not
// carried is listed with its place, and nothing is "all resolved" then.
func TestProofOfThreeClasses(t *testing.T) {
	lock := bundle.Lock{
		Images:     []bundle.Image{{Name: "quay.io/shop/helper:1", Digest: "sha256:aa", LooksLike: true, NeededBy: []string{"add-on cash: ConfigMap shop/c, data.helper"}}},
		NotCarried: []bundle.NotCarried{{Reference: "quay.io/shop/gone:1", Reason: "its registry has no such image", FoundIn: []string{"add-on cash: ConfigMap shop/c, data.gone"}}},
		Ignored:    []bundle.Ignored{{Reference: "quay.io/shop/demo:1", Reason: "a demo", FoundIn: []string{"add-on cash: chart till, annotation helm.sh/images"}}},
	}
	p := proofOf(&bundle.Plan{Lock: lock})
	if p.ClosedWorld.AllResolved {
		t.Error("all is resolved")
	}
	var text bytes.Buffer
	p.list(&text)
	if err := p.sum(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"sha256:aa, 0 B; looks like an image, and its registry has it\n           for add-on cash: ConfigMap shop/c, data.helper\n",
		"not carried quay.io/shop/gone:1\n           looks like an image; its registry has no such image\n           in add-on cash: ConfigMap shop/c, data.gone\n",
		"ignored  quay.io/shop/demo:1\n           a demo\n           in add-on cash: chart till, annotation helm.sh/images\n",
		"not closed: 1 reference resolved, 1 possible image not carried;", "images.list", "images.ignore",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	if strings.Contains(text.String(), "all resolved") {
		t.Errorf("it says that all is resolved:\n%s", text.String())
	}
	if err := strictly(&bundle.Plan{Lock: lock}); err == nil || !strings.Contains(err.Error(), "quay.io/shop/gone:1 looks like an image and is not carried: its registry has no such image (found in add-on cash: ConfigMap shop/c, data.gone)") {
		t.Errorf("--strict: %v", err)
	}
	if err := strictly(&bundle.Plan{}); err != nil {
		t.Errorf("--strict with nothing missing: %v", err)
	}
	text.Reset()
	said := ui.New(&text, ui.Plain)
	tellNotCarried(said, lock)
	if !strings.Contains(text.String(), "quay.io/shop/gone:1 looks like an image and is not carried") {
		t.Errorf("it is not said: %q", text.String())
	}
}
