package verify

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ReaderRole is the name of the ClusterRole in ReaderObjects.
const ReaderRole = "airgap-verify-reader"

// ReaderObjects returns the ClusterRole for read-only users of airgap verify, without a binding. It
// allows get, list and watch of each kind that a rule reads, the record of owed hosts, and the requests for the cluster ID
// and the state of the API server. It does not allow Secrets and other ConfigMaps.
func ReaderObjects() []*unstructured.Unstructured {
	byGroup := map[string][]string{}
	for _, s := range sources {
		byGroup[s.resource.Group] = append(byGroup[s.resource.Group], s.resource.Resource)
	}
	var rules []any
	for _, group := range slices.Sorted(maps.Keys(byGroup)) {
		rules = append(rules, map[string]any{"apiGroups": []any{group}, "resources": anys(byGroup[group]), "verbs": []any{"get", "list", "watch"}})
	}
	rules = append(rules,
		map[string]any{"apiGroups": []any{""}, "resources": []any{"namespaces"}, "verbs": []any{"get"}},
		map[string]any{"apiGroups": []any{""}, "resources": []any{"configmaps"}, "resourceNames": []any{"airgap-owed"}, "verbs": []any{"get"}},
		map[string]any{"nonResourceURLs": []any{"/api", "/api/*", "/apis", "/apis/*", "/readyz", "/version"}, "verbs": []any{"get"}})
	return []*unstructured.Unstructured{{Object: map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": map[string]any{"name": ReaderRole}, "rules": rules,
	}}}
}

func anys(words []string) []any {
	slices.SortFunc(words, strings.Compare)
	all := make([]any, len(words))
	for i, word := range words {
		all[i] = word
	}
	return all
}
