//go:build ignore

// Print prints the fields of the configuration types of one Kubernetes minor, and the feature
// gates of its programs. It runs in the module of a recipe, which selects the minor: see
// TestFields.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiserver "k8s.io/apiserver/pkg/apis/apiserver/v1"
	audit "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/util/feature"
	logs "k8s.io/component-base/logs/api/v1"
	proxy "k8s.io/kube-proxy/config/v1alpha1"
	kubelet "k8s.io/kubelet/config/v1beta1"
	kubeadm "k8s.io/kubernetes/cmd/kubeadm/app/apis/kubeadm/v1beta4"
	_ "k8s.io/kubernetes/pkg/features" // registers the gates
)

// types maps the name of each struct to its fields: JSON name to kind.
type types map[string]map[string]string

// known has the types with their own JSON decoder.
var known = map[reflect.Type]string{
	reflect.TypeFor[metav1.Duration]():         "duration",
	reflect.TypeFor[metav1.Time]():             "string",
	reflect.TypeFor[metav1.ObjectMeta]():       "any",
	reflect.TypeFor[resource.Quantity]():       "quantity",
	reflect.TypeFor[resource.QuantityValue]():  "quantity",
	reflect.TypeFor[logs.TimeOrMetaDuration](): "duration or integer",
}

func main() {
	all := types{}
	for _, t := range []reflect.Type{
		reflect.TypeFor[kubelet.KubeletConfiguration](), reflect.TypeFor[proxy.KubeProxyConfiguration](), reflect.TypeFor[kubeadm.ClusterConfiguration](),
		reflect.TypeFor[audit.Policy](), reflect.TypeFor[apiserver.AuthenticationConfiguration](),
	} {
		all.kind(t)
	}
	gates := slices.Sorted(maps.Keys(feature.DefaultMutableFeatureGate.GetAll()))
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", " ")
	if err := out.Encode(map[string]any{"types": all, "gates": gates}); err != nil {
		log.Fatal(err)
	}
}

// kind returns the name of a type, and adds the fields of a struct to all.
func (all types) kind(t reflect.Type) string {
	if name, is := known[t]; is {
		return name
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		log.Fatalf("%s has its own JSON decoder: add it to known", t)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return all.kind(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "string"
		}
		return "[]" + all.kind(t.Elem())
	case reflect.Map:
		return "{}" + all.kind(t.Elem())
	case reflect.Struct:
		name := t.String()
		if _, done := all[name]; !done {
			fields := map[string]string{}
			all[name] = fields
			all.fields(t, fields)
		}
		return name
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint32, reflect.Float64, reflect.Float32:
		return t.Kind().String()
	}
	log.Fatalf("%s has no kind", t)
	return ""
}

func (all types) fields(t reflect.Type, into map[string]string) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case name == "" && f.Anonymous:
			all.fields(f.Type, into)
		case name == "":
			log.Fatal(fmt.Errorf("%s.%s has no name in JSON", t, f.Name))
		default:
			into[name] = all.kind(f.Type)
		}
	}
}
