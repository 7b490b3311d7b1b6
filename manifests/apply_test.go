package manifests_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"airgap.dev/airgap/manifests"
	"airgap.dev/airgap/verify/apitest"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

const shop = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: prices, namespace: shop}
data: {apple: "2"}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: till, namespace: shop}
spec:
  selector: {matchLabels: {app: till}}
  template:
    metadata: {labels: {app: till}}
    spec:
      containers:
        - name: till
          image: registry.example/till:1
          resources: {requests: {cpu: 1000m}}
`

func TestApply(t *testing.T) {
	server := apitest.Start(t)
	t.Run("objects that are up to date are not written", func(t *testing.T) { appliesOnce(t, server) })
	t.Run("only changed objects are written", func(t *testing.T) { appliesChange(t, server) })
	t.Run("fields of other managers do not change", func(t *testing.T) { reportsConflict(t, server) })
	t.Run("a race is retried", func(t *testing.T) { retriesRace(t, server) })
	t.Run("a write of another client is not drift", func(t *testing.T) { comparesOneVersion(t, server) })
	t.Run("a failed connection is retried", func(t *testing.T) { retriesConnections(t, server) })
	t.Run("an endless race is an error", func(t *testing.T) { endlessRace(t, server) })
	t.Run("Apply waits for a new kind", func(t *testing.T) { waitsForKind(t, server) })
	t.Run("Apply waits for a new version", func(t *testing.T) { waitsForVersion(t, server) })
	t.Run("a kind with names in use", func(t *testing.T) { refusedKind(t, server) })
	t.Run("objects without a namespace", func(t *testing.T) { fillsNamespace(t, server) })
	t.Run("an unknown kind", func(t *testing.T) { unknownKind(t, server) })
}

func appliesOnce(t *testing.T, server *apitest.Server) {
	var writes atomic.Int32
	config := counting(server.Config, &writes)
	wantCurrent(t, config, shop, false)
	wantChanged(t, config, shop, 3)
	if n := writes.Swap(0); n != 3 {
		t.Errorf("first apply: %d writes, want 3", n)
	}
	got, err := server.Client(t).CoreV1().ConfigMaps("shop").Get(t.Context(), "prices", metav1.GetOptions{})
	if err != nil || len(got.ManagedFields) != 1 || got.ManagedFields[0].Manager != manifests.FieldManager || got.ManagedFields[0].Operation != metav1.ManagedFieldsOperationApply {
		t.Errorf("the managed fields of prices are %v (%v), want only airgap's, applied server-side", got.ManagedFields, err)
	}
	wantCurrent(t, config, shop, true)
	wantChanged(t, config, shop, 0)
	if n := writes.Load(); n != 0 {
		t.Errorf("second apply: %d writes, want none", n)
	}
}

func appliesChange(t *testing.T, server *apitest.Server) {
	dearer := strings.Replace(shop, `apple: "2"`, `apple: "3", pear: "1"`, 1)
	wantCurrent(t, server.Config, dearer, false)
	wantChanged(t, server.Config, dearer, 1)
	// A field that is no longer in the manifest is removed.
	wantCurrent(t, server.Config, shop, false)
	wantChanged(t, server.Config, shop, 1)
	got, err := server.Client(t).CoreV1().ConfigMaps("shop").Get(t.Context(), "prices", metav1.GetOptions{})
	if err != nil || len(got.Data) != 1 || got.Data["apple"] != "2" {
		t.Errorf("prices are %v (%v), want apple: 2 only", got.Data, err)
	}
}

func reportsConflict(t *testing.T, server *apitest.Server) {
	maps := server.Client(t).CoreV1().ConfigMaps("shop")
	prices, err := maps.Get(t.Context(), "prices", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	prices.Data = map[string]string{"apple": "9", "theirs": "1"}
	if _, err := maps.Update(t.Context(), prices, metav1.UpdateOptions{FieldManager: "shopkeeper"}); err != nil {
		t.Fatal(err)
	}
	_, err = manifests.Apply(t.Context(), server.Config, objects(t, shop))
	var conflict *manifests.ConflictError
	if !errors.As(err, &conflict) {
		t.Fatalf("got %v, want a ConflictError", err)
	}
	for _, want := range []string{"ConfigMap shop/prices", "shopkeeper", "apple"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not contain %s", err, want)
		}
	}
	if _, err := manifests.Current(t.Context(), server.Config, objects(t, shop)); !errors.As(err, &conflict) {
		t.Errorf("Current: got %v, want a ConflictError", err)
	}
	got, err := maps.Get(t.Context(), "prices", metav1.GetOptions{})
	if err != nil || got.Data["apple"] != "9" {
		t.Errorf("the other manager's value became %v (%v)", got.Data, err)
	}
}

// retriesRace lets another client write first and refuses the first write with a conflict. In the
// end the object has both changes.
func retriesRace(t *testing.T, server *apitest.Server) {
	maps := server.Client(t).CoreV1().ConfigMaps("shop")
	wantChanged(t, server.Config, race("b"), 1)
	var refused, readAfter atomic.Int32
	config := watched(server.Config, func(r *http.Request) *http.Response {
		if r.Method == http.MethodGet && refused.Load() > 0 {
			readAfter.Add(1)
		}
		if !isWrite(r) || !refused.CompareAndSwap(0, 1) {
			return nil
		}
		theirs := []byte(`{"data":{"theirs":"1"}}`)
		if _, err := maps.Patch(t.Context(), "race", types.MergePatchType, theirs, metav1.PatchOptions{FieldManager: "shopkeeper"}); err != nil {
			t.Error(err)
		}
		return raced(r)
	})
	wantChanged(t, config, race("c"), 1)
	got, err := maps.Get(t.Context(), "race", metav1.GetOptions{})
	if err != nil || got.Data["a"] != "c" || got.Data["theirs"] != "1" {
		t.Errorf("after the race: %v (%v), want both changes", got.Data, err)
	}
	if refused.Load() != 1 || readAfter.Load() == 0 {
		t.Errorf("%d writes refused, then %d reads: the new version of the object was not read", refused.Load(), readAfter.Load())
	}
}

// comparesOneVersion lets another client write between the read of the live object and the dry run.
// That is not a change of airgap's fields.
func comparesOneVersion(t *testing.T, server *apitest.Server) {
	maps := server.Client(t).CoreV1().ConfigMaps("shop")
	var between atomic.Int32
	config := watched(server.Config, func(r *http.Request) *http.Response {
		if r.Method == http.MethodPatch && r.URL.Query().Get("dryRun") != "" && between.CompareAndSwap(0, 1) {
			theirs := []byte(`{"data":{"theirs":"2"}}`)
			if _, err := maps.Patch(t.Context(), "race", types.MergePatchType, theirs, metav1.PatchOptions{FieldManager: "shopkeeper"}); err != nil {
				t.Error(err)
			}
		}
		return nil
	})
	wantCurrent(t, config, race("c"), true)
	if between.Load() != 1 {
		t.Error("no client wrote in between")
	}
}

// endlessRace: if another client is always faster, Apply stops with an error.
func endlessRace(t *testing.T, server *apitest.Server) {
	var refused atomic.Int32
	config := watched(server.Config, func(r *http.Request) *http.Response {
		if !isWrite(r) {
			return nil
		}
		refused.Add(1)
		return raced(r)
	})
	n, err := manifests.Apply(t.Context(), config, objects(t, race("d")))
	if n != 0 || !apierrors.IsConflict(err) || !strings.Contains(err.Error(), "ConfigMap shop/race") || refused.Load() < 3 {
		t.Errorf("changed %d after %d tries: %v", n, refused.Load(), err)
	}
}

func race(value string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: race, namespace: shop}\ndata: {a: " + value + "}\n"
}

// watched calls answer for each request. If answer returns nil, the request goes to the API server.
func watched(config *rest.Config, answer func(*http.Request) *http.Response) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return transport(func(r *http.Request) (*http.Response, error) {
			if response := answer(r); response != nil {
				return response, nil
			}
			return next.RoundTrip(r)
		})
	})
	return config
}

const shops = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shops.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {kind: Shop, plural: shops, singular: shop, listKind: ShopList}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// waitsForKind applies a definition and an object of its kind together.
func waitsForKind(t *testing.T, server *apitest.Server) {
	both := shops + "---\napiVersion: example.org/v1\nkind: Shop\nmetadata: {name: corner, namespace: shop}\nspec: {open: true}\n"
	wantCurrent(t, server.Config, both, false)
	wantChanged(t, server.Config, both, 2)
	wantCurrent(t, server.Config, both, true)
	wantChanged(t, server.Config, both, 0)
}

// waitsForVersion applies an object of a version that the definition before it adds. The cluster
// knows the kind already.
func waitsForVersion(t *testing.T, server *apitest.Server) {
	stalls := strings.NewReplacer("shops", "stalls", "shop", "stall", "Shop", "Stall", "- name: v1", "- name: v1alpha1").Replace(shops)
	wantChanged(t, server.Config, stalls, 1)
	v1 := `    - name: v1
      served: true
      storage: false
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`
	both := stalls + v1 + "---\napiVersion: example.org/v1\nkind: Stall\nmetadata: {name: corner, namespace: shop}\nspec: {open: true}\n"
	wantChanged(t, server.Config, both, 2)
	wantChanged(t, server.Config, both, 0)
}

// refusedKind: the error about names that another definition uses contains the API server's message.
func refusedKind(t *testing.T, server *apitest.Server) {
	other := strings.NewReplacer("shops.example.org", "stores.example.org", "plural: shops", "plural: stores").Replace(shops)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err := manifests.Apply(ctx, server.Config, objects(t, other))
	if err == nil || !strings.Contains(err.Error(), "CustomResourceDefinition stores.example.org") || !strings.Contains(err.Error(), "already in use") {
		t.Errorf("got %v, want the name that is in use", err)
	}
}

// fillsNamespace does not change objects of cluster-scoped kinds, even if the object names a namespace.
func fillsNamespace(t *testing.T, server *apitest.Server) {
	target := manifests.Target{Config: server.Config, Namespace: "shop"}
	list := objects(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: stray}\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: stray, namespace: shop}\nrules: []\n")
	for _, want := range []int{2, 0} {
		if n, err := target.Apply(t.Context(), list); err != nil || n != want {
			t.Fatalf("changed %d (%v), want %d", n, err, want)
		}
	}
	if _, err := server.Client(t).CoreV1().ConfigMaps("shop").Get(t.Context(), "stray", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if list[0].GetNamespace() != "" {
		t.Error("the caller's object was changed")
	}
}

func unknownKind(t *testing.T, server *apitest.Server) {
	unknown := "apiVersion: example.com/v1\nkind: Unheard\nmetadata: {name: a}\n"
	wantCurrent(t, server.Config, unknown, false)
	if _, err := manifests.Apply(t.Context(), server.Config, objects(t, unknown)); err == nil || !strings.Contains(err.Error(), "Unheard a") {
		t.Errorf("got %v, want an error that names the object", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := manifests.Apply(ctx, server.Config, objects(t, shop)); !errors.Is(err, context.Canceled) {
		t.Errorf("after cancel: got %v", err)
	}
}

func objects(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	list, err := manifests.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func wantChanged(t *testing.T, config *rest.Config, text string, want int) {
	t.Helper()
	got, err := manifests.Apply(t.Context(), config, objects(t, text))
	if err != nil || got != want {
		t.Fatalf("Apply changed %d (%v), want %d", got, err, want)
	}
}

func wantCurrent(t *testing.T, config *rest.Config, text string, want bool) {
	t.Helper()
	got, err := manifests.Current(t.Context(), config, objects(t, text))
	if err != nil || got != want {
		t.Fatalf("Current is %v (%v), want %v", got, err, want)
	}
	pending, err := manifests.Pending(t.Context(), config, objects(t, text))
	if err != nil || (len(pending) == 0) != want {
		t.Errorf("the pending objects are %q (%v), though Current is %v", pending, err, want)
	}
}

func counting(config *rest.Config, writes *atomic.Int32) *rest.Config {
	return watched(config, func(r *http.Request) *http.Response {
		if isWrite(r) {
			writes.Add(1)
		}
		return nil
	})
}

func isWrite(r *http.Request) bool {
	return r.Method != http.MethodGet && r.URL.Query().Get("dryRun") == ""
}

func raced(r *http.Request) *http.Response {
	body := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409,"message":"the object has been modified"}`
	return &http.Response{
		StatusCode: http.StatusConflict, Status: "409 Conflict", Request: r,
		Header: http.Header{"Content-Type": {"application/json"}},
		Body:   io.NopCloser(strings.NewReader(body)),
	}
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }
