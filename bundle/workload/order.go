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

// Installed are the objects that an installation applies, in its order:
// definitions of kinds, namespaces, what others refer to, everything else, and
// last what judges or serves requests, which would else refuse its own add-on.
// Helm's hooks before and after an installation are objects like the others,
// before and after them by their weights; those of tests, upgrades and
// removals are left out. The objects themselves are not changed.
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

// phaseOf is when an object is applied; wanted is false for hooks of anything
// but an installation.
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

// Foreruns reports whether a hook before an installation is there until the object itself
// is: a chart has a ServiceAccount as a hook, for a Job before the installation, and once
// more for good. The object itself does for both.
func Foreruns(hook, o Object) bool {
	_, isHook := o.GetAnnotations()[hookAnnotation]
	phase, _ := phaseOf(hook)
	return phase == before && !isHook && rankOf(hook) == referred
}

// weightOf is 0 for what is no number, as in Helm.
func weightOf(o Object) int {
	weight, err := strconv.Atoi(o.GetAnnotations()[weightAnnotation])
	if err != nil {
		return 0
	}
	return weight
}

// The ranks of kinds; up to referred they come before everything else.
const (
	definition = iota
	namespace
	referred
	ordinary
	judging
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
		return judging
	}
	return ordinary
}

// kept lets a hook's Job stay when it has ended: that it is there is how the
// next run knows that it ran.
func kept(o Object) Object {
	if o.GetKind() != "Job" {
		return o
	}
	o.Unstructured = o.DeepCopy()
	unstructured.RemoveNestedField(o.Object, "spec", "ttlSecondsAfterFinished")
	return o
}

// Encode writes objects as a YAML stream; the same objects give the same
// bytes, and reading them gives the same objects.
func Encode(objects []Object) ([]byte, error) {
	var b bytes.Buffer
	for _, o := range objects {
		text, err := k8syaml.Marshal(o.Object)
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", o.Title(""), err)
		}
		again, _, err := Document{Text: text}.parse()
		if err != nil || len(again) != 1 || !reflect.DeepEqual(again[0].Object, o.Object) {
			return nil, fmt.Errorf("%s: %s would be another one when it is read again: it has characters or numbers that YAML does not keep", o.At, o.Title(""))
		}
		b.WriteString("---\n")
		b.Write(text)
	}
	return b.Bytes(), nil
}
