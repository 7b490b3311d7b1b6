package workload

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8syaml "sigs.k8s.io/yaml"
)

const (
	hookAnnotation   = "helm.sh/hook"
	weightAnnotation = "helm.sh/hook-weight"
)

// Installed returns the objects that an installation applies, in order:
// definitions, namespaces, objects that others refer to, all other objects, and
// last webhooks and APIServices, which could otherwise reject other objects of the
// add-on. Helm's hooks before and after an installation come before and after the
// other objects, by their weights. Hooks for tests, upgrades and removals are
// omitted. Installed does not change the given objects.
func Installed(objects []Object) []Object {
	type placed struct {
		Object
		phase, weight, rank int
	}
	var all []placed
	for _, o := range objects {
		phase, wanted := phaseOf(o)
		if !wanted {
			continue
		}
		weight, rank := weightOf(o), rankOf(o)
		if rank < referred {
			phase, weight = before, 0
		}
		if phase != main {
			o = kept(o)
		}
		all = append(all, placed{o, phase, weight, rank})
	}
	slices.SortStableFunc(all, func(a, b placed) int {
		foundation := func(p placed) int { return min(p.rank, referred) }
		return cmp.Or(cmp.Compare(foundation(a), foundation(b)), cmp.Compare(a.phase, b.phase), cmp.Compare(a.weight, b.weight), cmp.Compare(a.rank, b.rank))
	})
	sorted := make([]Object, len(all))
	for i, p := range all {
		sorted[i] = p.Object
	}
	return sorted
}

// The phases of an installation.
const (
	before = iota
	main
	after
)

// phaseOf returns the phase of an object; wanted is false for hooks that do not
// belong to an installation.
func phaseOf(o Object) (phase int, wanted bool) {
	text, is := o.GetAnnotations()[hookAnnotation]
	if !is {
		return main, true
	}
	hooks := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r == ',' || r == ' ' })
	switch {
	case slices.Contains(hooks, "pre-install"):
		return before, true
	case slices.Contains(hooks, "post-install"):
		return after, true
	}
	return 0, false
}

// Precedes reports whether o replaces a hook before an installation: some charts have a
// ServiceAccount as a hook, for a Job before the installation, and also as an ordinary
// object. The ordinary object is sufficient.
func Precedes(hook, o Object) bool {
	_, isHook := o.GetAnnotations()[hookAnnotation]
	phase, _ := phaseOf(hook)
	return phase == before && !isHook && rankOf(hook) == referred
}

// weightOf returns 0 for a weight that is not a number, as in Helm.
func weightOf(o Object) int {
	weight, err := strconv.Atoi(o.GetAnnotations()[weightAnnotation])
	if err != nil {
		return 0
	}
	return weight
}

// The ranks of kinds. Objects up to referred come before all others.
const (
	definition = iota
	namespace
	referred
	ordinary
	admission
)

func rankOf(o Object) int {
	switch o.GetKind() {
	case "CustomResourceDefinition":
		return definition
	case "Namespace":
		return namespace
	case "PriorityClass", "ResourceQuota", "LimitRange", "ServiceAccount", "Secret", "ConfigMap", "StorageClass",
		"PersistentVolume", "PersistentVolumeClaim", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "Service":
		return referred
	case "APIService", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicyBinding":
		return admission
	}
	return ordinary
}

// kept keeps a hook's Job after its completion, because the next run checks whether it
// exists.
func kept(o Object) Object {
	if o.GetKind() != "Job" {
		return o
	}
	o.Unstructured = o.DeepCopy()
	unstructured.RemoveNestedField(o.Object, "spec", "ttlSecondsAfterFinished")
	return o
}

// Encode writes objects as a YAML stream. The same objects give the same bytes. Encode
// fails if the stream does not parse to the same objects.
func Encode(objects []Object) ([]byte, error) {
	var b bytes.Buffer
	for _, o := range objects {
		text, err := k8syaml.Marshal(o.Object)
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", o.Title(""), err)
		}
		again, _, err := Document{Text: text}.parse()
		if err != nil || len(again) != 1 || !reflect.DeepEqual(again[0].Object, o.Object) {
			return nil, fmt.Errorf("%s: %s would change when airgap writes it as YAML: it has characters or numbers that YAML does not preserve", o.At, o.Title(""))
		}
		b.WriteString("---\n")
		b.Write(text)
	}
	return b.Bytes(), nil
}
