package cni

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const definitionKind = "CustomResourceDefinition"

// refuseIPIP returns an error for every place in the objects that enables IP-in-IP: fields and variables
// with that name, unless they disable it, and any other text that contains it. It skips custom resource
// definitions.
func refuseIPIP(objects []*unstructured.Unstructured) error {
	var errs []error
	for _, o := range objects {
		if o.GetKind() == definitionKind {
			continue
		}
		for _, at := range ipipIn(o.Object, "") {
			errs = append(errs, fmt.Errorf("%s: %s enables IP-in-IP, which airgap never uses: many networks drop protocol 4", titleOf(o), at))
		}
	}
	return errors.Join(errs...)
}

// ipipIn returns the places below a value, with their text.
func ipipIn(value any, at string) []string {
	switch v := value.(type) {
	case map[string]any:
		return ipipInMap(v, at)
	case []any:
		var found []string
		for i, item := range v {
			found = append(found, ipipIn(item, fmt.Sprintf("%s[%d]", at, i))...)
		}
		return found
	case string:
		if saysIPIP(v) {
			return []string{fmt.Sprintf("%s: %q", at, v)}
		}
	}
	return nil
}

// ipipInMap treats a variable of a container as one item, because its name gives its value a meaning.
func ipipInMap(m map[string]any, at string) []string {
	if name, is := m["name"].(string); is && saysIPIP(name) {
		if isOff(m["value"]) {
			return nil
		}
		return []string{fmt.Sprintf("%s: %s=%v", at, name, m["value"])}
	}
	var found []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		below := strings.TrimPrefix(at+"."+key, ".")
		switch {
		case !saysIPIP(key):
			found = append(found, ipipIn(m[key], below)...)
		case !isOff(m[key]):
			found = append(found, fmt.Sprintf("%s: %v", below, m[key]))
		}
	}
	return found
}

// saysIPIP recognizes the spellings of Calico, flannel, Cilium and the kernel.
func saysIPIP(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc([]string{"ipip", "ipinip", "ip-in-ip", "ip_in_ip"}, func(spelling string) bool { return strings.Contains(text, spelling) })
}

func isOff(value any) bool {
	switch v := value.(type) {
	case bool:
		return !v
	case string:
		return slices.Contains([]string{"never", "false", "disabled"}, strings.ToLower(v))
	}
	return false
}

// titleOf returns the kind and name of an object: "DaemonSet kube-system/calico-node".
func titleOf(o *unstructured.Unstructured) string {
	return o.GetKind() + " " + strings.TrimPrefix(o.GetNamespace()+"/"+o.GetName(), "/")
}
