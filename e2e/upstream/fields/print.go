//go:build ignore

// Print writes the fields of the configuration types of one minor of Kubernetes,
// and the feature gates that its programs know. It runs in a recipe's module,
// which decides the minor: see TestFields.
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

// types are the fields of each struct, by the names in JSON, with their kinds.
type types map[string]map[string]string

// known are the types that read JSON by code of their own.
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

// kind names a type, and takes the fields of a struct in.
func (all types) kind(t reflect.Type) string {
	if name, is := known[t]; is {
		return name
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		log.Fatalf("%s reads JSON by itself", t)
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
