package verify

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"airgap.dev/airgap/verify/nodereport"
)

// TestOtherForms: an object with an unexpected format is not used, and its rule names it.
func TestOtherForms(t *testing.T) {
	apiService := func(spec, status map[string]any) *unstructured.Unstructured {
		u := untyped("apiregistration.k8s.io/v1", "APIService", "v1.shop", spec)
		u.Object["status"] = status
		return u
	}
	for name, test := range map[string]struct {
		rule   rule
		object metav1.Object
	}{
		"a mode that is a number":      {noIPIP(), untyped("crd.projectcalico.org/v1", "IPPool", "default", map[string]any{"ipipMode": int64(1)})},
		"a setting that is a text":     {noIPIP(), untyped("crd.projectcalico.org/v1", "FelixConfiguration", "default", map[string]any{"ipipEnabled": "yes"})},
		"a service that is a text":     {apiServicesAnswer(anyNamespace), apiService(map[string]any{"service": "shop/api"}, nil)},
		"conditions that are a text":   {apiServicesAnswer(anyNamespace), apiService(map[string]any{}, map[string]any{"conditions": "all well"})},
		"a condition that is a number": {apiServicesAnswer(anyNamespace), apiService(map[string]any{}, map[string]any{"conditions": []any{int64(1)}})},
		"a status that is a number":    {apiServicesAnswer(anyNamespace), apiService(map[string]any{}, map[string]any{"conditions": []any{map[string]any{"type": "Available", "status": int64(1)}}})},
		"a report that is a list":      {reportsFresh(), &unstructured.Unstructured{Object: map[string]any{"kind": nodereport.Kind.Kind, "metadata": map[string]any{"name": "w1"}, "report": []any{}}}},
	} {
		v := seen(t, node("w1", corev1.ConditionTrue))
		if err := v.caches[kindOf(t, test.object)][0].AddIndexers(cache.Indexers{byUnreadable: indexUnreadable}); err != nil {
			t.Fatal(err)
		}
		v.put(t, test.object)
		doubts := v.unreadable(test.rule.kinds())
		if len(doubts) != 1 || !strings.HasSuffix(doubts[0].object, test.object.GetName()) {
			t.Errorf("%s: %v", name, doubts)
		}
	}
	good := apiService(map[string]any{"service": map[string]any{"namespace": "shop", "name": "api", "port": int64(443)}},
		map[string]any{"conditions": []any{map[string]any{"type": "Available", "status": "True", "reason": "Passed", "lastTransitionTime": "2026-11-21T08:00:00Z"}}})
	if kept, err := keepAPIService(objectMeta{}, good); err != nil || kept.service != "shop/api" || kept.available != metav1.ConditionTrue || kept.reason != "Passed" {
		t.Errorf("%+v, %v", kept, err)
	}
	if kept, err := keepAPIService(objectMeta{}, apiService(map[string]any{"service": nil}, nil)); err != nil || kept.service != "" {
		t.Errorf("local APIService: %+v, %v", kept, err)
	}
}
