package verify

import (
	"context"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// The mutation detector of client-go checks only runtime.Objects. In tests, the objects of trim
// implement that interface too.

func (m *objectMeta) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

func (k *keptPod) DeepCopyObject() runtime.Object        { return copied(k) }
func (k *keptLease) DeepCopyObject() runtime.Object      { return copied(k) }
func (k *keptService) DeepCopyObject() runtime.Object    { return copied(k) }
func (k *keptSlice) DeepCopyObject() runtime.Object      { return copied(k) }
func (k *keptWebhooks) DeepCopyObject() runtime.Object   { return copied(k) }
func (k *keptBinding) DeepCopyObject() runtime.Object    { return copied(k) }
func (k *keptRole) DeepCopyObject() runtime.Object       { return copied(k) }
func (k *keptRequest) DeepCopyObject() runtime.Object    { return copied(k) }
func (k *keptReport) DeepCopyObject() runtime.Object     { return copied(k) }
func (k *keptAPIService) DeepCopyObject() runtime.Object { return copied(k) }
func (k *keptPool) DeepCopyObject() runtime.Object       { return copied(k) }
func (k *keptFelix) DeepCopyObject() runtime.Object      { return copied(k) }
func (k *keptJob) DeepCopyObject() runtime.Object        { return copied(k) }
func (k *keptNamespace) DeepCopyObject() runtime.Object  { return copied(k) }
func (k *keptInside) DeepCopyObject() runtime.Object     { return copied(k) }
func (k *keptUnreadable) DeepCopyObject() runtime.Object { return copied(k) }

// copied returns a deep copy of the value of k.
func copied[T any](k *T) *T {
	to := new(T)
	copyValue(reflect.ValueOf(to).Elem(), reflect.ValueOf(k).Elem())
	return to
}

// copyValue copies pointers, slices, maps and structs with all fields. It does not copy the private
// fields of other packages (the zone of a time, an interned text), which this package cannot change.
func copyValue(to, from reflect.Value) {
	to.Set(from)
	switch from.Kind() {
	case reflect.Pointer:
		if !from.IsNil() {
			to.Set(reflect.New(from.Type().Elem()))
			copyValue(to.Elem(), from.Elem())
		}
	case reflect.Slice:
		if !from.IsNil() {
			to.Set(reflect.MakeSlice(from.Type(), from.Len(), from.Len()))
			for i := range from.Len() {
				copyValue(to.Index(i), from.Index(i))
			}
		}
	case reflect.Map:
		if !from.IsNil() {
			to.Set(reflect.MakeMap(from.Type()))
			for key, value := range from.Seq2() {
				fresh := reflect.New(value.Type()).Elem()
				copyValue(fresh, value)
				to.SetMapIndex(key, fresh)
			}
		}
	case reflect.Struct:
		if pkg := from.Type().PkgPath(); pkg == "time" || pkg == "unique" {
			return
		}
		for i := range from.NumField() {
			copyValue(open(to.Field(i)), open(from.Field(i)))
		}
	}
}

// open makes a field readable and writable, even an unexported one.
func open(field reflect.Value) reflect.Value {
	return reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem()
}

// mutators returns rules that change a cached object.
func mutators() map[string]rule {
	return map[string]rule{
		"a typed object": {id: "mutator", watches: []kind{nodes}, judge: func(v view) []Finding {
			v.allNodes()[0].Labels["mutated"] = "yes"
			return nil
		}},
		"a trimmed object": {id: "mutator", watches: []kind{pods}, judge: func(v view) []Finding {
			all[*keptPod](v, pods)[0].containers[0].restarts++
			return nil
		}},
	}
}

// TestCachedObjectsAreNotChanged runs each mutator in a separate process: the detector of client-go stops it
// with a panic. The test fails if the detector is off.
func TestCachedObjectsAreNotChanged(t *testing.T) {
	if name := os.Getenv("AIRGAP_MUTATOR"); name != "" {
		runMutator(t, name)
		return
	}
	t.Parallel()
	b := newTestCluster(t)
	for name := range mutators() {
		t.Run(name, func(t *testing.T) {
			child := exec.Command(os.Args[0], "-test.run=^TestCachedObjectsAreNotChanged$")
			child.Env = append(bare(), "AIRGAP_MUTATOR="+name, "AIRGAP_MUTATOR_API="+b.server.Config.Host+" "+b.server.Config.CAFile+" "+b.server.Config.BearerToken)
			said, err := child.CombinedOutput()
			if err == nil || !strings.Contains(string(said), "ALTERED!") {
				t.Errorf("no panic after a rule changed a cached object: %v\n%s", err, said)
			}
		})
	}
}

// bare returns the environment without the setting of the detector.
func bare() []string {
	return slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "KUBE_CACHE_MUTATION_DETECTOR=") })
}

// runMutator verifies with a mutator. It returns only if no error was detected.
func runMutator(t *testing.T, name string) {
	of := strings.Fields(os.Getenv("AIRGAP_MUTATOR_API"))
	o := Options{API: config(of[0], of[1], of[2]), Soak: time.Minute}
	o.fill()
	api, err := newAPI(o.API)
	if err != nil {
		t.Fatal(err)
	}
	e := newEngine(o, api)
	e.rules = append(e.rules, mutators()[name])
	e.board.add("mutator", "Mutator")
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	e.run(ctx)
}

func config(host, ca, token string) *rest.Config {
	return &rest.Config{Host: host, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAFile: ca}}
}
