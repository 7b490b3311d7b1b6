package kubeadm

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/release"
)

// strict finds unknown fields and values of the wrong type for this minor version. Kubernetes'
// programs ignore unknown fields, or fail only after the installation of the packages.
func (c Config) strict(at *field.Path) field.ErrorList {
	own, err := release.Of(c.Version)
	if err != nil {
		return nil // Validate reports it
	}
	list, err := fieldsOf(own.Minor)
	if err != nil {
		return field.ErrorList{field.InternalError(at.Child("version"), err)}
	}
	s := strictReader{list, own.Minor}
	over := at.Child("overrides")
	errs := s.section(over.Child("kubelet"), kubeletType, c.Overrides.Kubelet)
	errs = append(errs, s.gates(over.Child("kubelet", "featureGates"), c.Overrides.Kubelet["featureGates"])...)
	errs = append(errs, s.section(over.Child("kubeProxy"), proxyType, c.Overrides.KubeProxy)...)
	errs = append(errs, s.gates(over.Child("kubeProxy", "featureGates"), c.Overrides.KubeProxy["featureGates"])...)
	errs = append(errs, s.section(over.Child("clusterConfiguration"), clusterType, c.Overrides.ClusterConfiguration)...)
	errs = append(errs, s.arguments(over.Child("clusterConfiguration"), c)...)
	errs = append(errs, s.section(at.Child("audit", "policy"), policyType, c.Audit.Policy)...)
	for i, jwt := range c.Authentication.JWT {
		errs = append(errs, s.section(at.Child("authentication", "jwt").Index(i), jwtType, jwt)...)
	}
	return errs
}

// strictReader checks values against the types of one minor version.
type strictReader struct {
	list  fieldList
	minor string
}

// section checks the fields of one struct. No field is required.
func (s strictReader) section(at *field.Path, kind string, fields map[string]any) field.ErrorList {
	var errs field.ErrorList
	known := s.list.Types[kind]
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		of, is := known[name]
		if !is {
			errs = append(errs, s.unknown(at.Child(name), name, "field of "+plain(kind), slices.Collect(maps.Keys(known))))
			continue
		}
		errs = append(errs, s.value(at.Child(name), of, fields[name])...)
	}
	return errs
}

func (s strictReader) unknown(at *field.Path, name, what string, known []string) *field.Error {
	return field.Invalid(at, name, fmt.Sprintf("Kubernetes %s has no such %s", s.minor, what)+advice.DidYouMean(name, known))
}

// plain is the name of a type without its package: "KubeletConfiguration".
func plain(kind string) string { return kind[strings.LastIndexByte(kind, '.')+1:] }

func (s strictReader) value(at *field.Path, kind string, value any) field.ErrorList {
	if value == nil {
		return field.ErrorList{field.Required(at, "the field has no value: set one, or leave the field out")}
	}
	if of, is := strings.CutPrefix(kind, "[]"); is {
		return s.items(at, of, value)
	}
	if of, is := strings.CutPrefix(kind, "{}"); is {
		return s.entries(at, of, value)
	}
	if _, is := s.list.Types[kind]; is {
		fields, is := value.(map[string]any)
		if !is {
			return wrongKind(at, value, "fields of "+plain(kind))
		}
		return s.section(at, kind, fields)
	}
	if want := expected(kind, value); want != "" {
		return wrongKind(at, value, want)
	}
	return nil
}

func (s strictReader) items(at *field.Path, kind string, value any) field.ErrorList {
	list, is := value.([]any)
	if !is {
		want := "a list"
		if fields, is := s.list.Types[kind]; is {
			want = "a list of {" + strings.Join(slices.Sorted(maps.Keys(fields)), ", ") + "}"
		}
		return wrongKind(at, value, want)
	}
	var errs field.ErrorList
	for i, item := range list {
		errs = append(errs, s.value(at.Index(i), kind, item)...)
	}
	return errs
}

func (s strictReader) entries(at *field.Path, kind string, value any) field.ErrorList {
	entries, is := value.(map[string]any)
	if !is {
		return wrongKind(at, value, "a mapping")
	}
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		errs = append(errs, s.value(at.Key(key), kind, entries[key])...)
	}
	return errs
}

// gates checks the names of feature gates: a program exits if it does not know one.
func (s strictReader) gates(at *field.Path, value any) field.ErrorList {
	gates, _ := value.(map[string]any)
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(gates)) {
		if !slices.Contains(s.list.Gates, name) {
			errs = append(errs, s.unknown(at.Key(name), name, "feature gate", s.list.Gates))
		}
	}
	return errs
}

// arguments checks the argument names of control-plane programs: a program exits if it does not
// know one.
func (s strictReader) arguments(at *field.Path, c Config) field.ErrorList {
	var errs field.ErrorList
	for _, part := range []node.Part{node.APIServer, node.ControllerManager, node.Scheduler} {
		for i, a := range c.extraArgs(part) {
			if wellFormed(a.name) && !slices.Contains(s.list.Arguments[part], a.name) {
				name := at.Child(sectionOf(part), "extraArgs").Index(i).Child("name")
				errs = append(errs, s.unknown(name, a.name, "argument of "+string(part), s.list.Arguments[part]))
			}
			if a.name == "feature-gates" {
				errs = append(errs, s.gates(at.Child(sectionOf(part), "extraArgs").Index(i).Child("value"), gatesIn(a.value))...)
			}
		}
	}
	return errs
}

// gatesIn are the gates of an argument: "A=true,kube:B=false".
func gatesIn(value string) map[string]any {
	gates := map[string]any{}
	for _, word := range words([]string{value}) {
		name, _, _ := strings.Cut(strings.TrimPrefix(word, "kube:"), "=")
		gates[strings.TrimSpace(name)] = true
	}
	return gates
}

// wellFormed reports whether a name has the form that kubeadm requires. refuse reports the
// others.
func wellFormed(name string) bool {
	return name != "" && name[0] != '-' && !strings.Contains(name, "_")
}

func wrongKind(at *field.Path, value any, want string) field.ErrorList {
	if _, is := value.(string); !is && want == "a string" {
		want += " (in quotes)"
	}
	switch value.(type) {
	case map[string]any:
		value = "a mapping"
	case []any:
		value = "a list"
	}
	return field.ErrorList{field.Invalid(at, value, "expected "+want)}
}

// expected describes the values of a field of this kind; "" if the value is valid.
func expected(kind string, value any) string {
	text, isText := value.(string)
	_, notDuration := time.ParseDuration(text)
	isDuration := isText && notDuration == nil
	_, isFloat := value.(float64)
	switch kind {
	case "any":
		return ""
	case "string":
		return unless(isText, "a string")
	case "bool":
		_, is := value.(bool)
		return unless(is, "true or false")
	case "duration":
		return unless(isDuration, "a duration such as 5m0s")
	case "duration or integer":
		return unless(isDuration || whole(value, math.MinInt64, math.MaxInt64), "a duration such as 5s, or nanoseconds")
	case "quantity":
		_, err := resource.ParseQuantity(fmt.Sprint(value))
		return unless(err == nil, "a quantity such as 100Mi")
	case "float32", "float64":
		return unless(isFloat || whole(value, math.MinInt64, math.MaxInt64), "a number")
	case "int32":
		return unless(whole(value, math.MinInt32, math.MaxInt32), "a whole number")
	case "uint32":
		return unless(whole(value, 0, math.MaxUint32), "a whole number, 0 or greater")
	case "int", "int64":
		return unless(whole(value, math.MinInt64, math.MaxInt64), "a whole number")
	}
	return "a type that airgap knows, not " + kind
}

func unless(fits bool, want string) string {
	if fits {
		return ""
	}
	return want
}

func whole(value any, least, most int64) bool {
	switch n := value.(type) {
	case int:
		return int64(n) >= least && int64(n) <= most
	case int64:
		return n >= least && n <= most
	}
	return false
}
