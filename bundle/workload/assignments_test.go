package workload_test

import (
	"fmt"
	"slices"
	"testing"
)

// TestAssignments: values of Helm's --set are the parts of an image.
func TestAssignments(t *testing.T) {
	for args, want := range map[string][]string{
		`[--set, "image.repository=quay.io/x/y,image.tag=1"]`:                                                                       {"quay.io/x/y:1"},
		`["--set=a.image.repository=quay.io/x/a,a.image.tag=1", --set-string=b.image.tag=2, --set, b.image.repository=quay.io/x/b]`: {"quay.io/x/a:1", "quay.io/x/b:2"},
		`[--set, image.registry=quay.io, --set, image.repository=x/y, --set, image.tag=1]`:                                          {"quay.io/x/y:1"},
		`[--set, "image=quay.io/x/y:1,enabled=false"]`:                                                                              {"quay.io/x/y:1"},
		`["exec helm install a --set image.repository=quay.io/x/y,image.tag=1 --wait"]`:                                             {"quay.io/x/y:1"},
		`["helm install a \\\n  --set image.repository=quay.io/x/y \\\n  --set image.tag=1\nexit 0\n"]`:                             {"quay.io/x/y:1"},
		`[--set, "image.pullPolicy=Always,replicas=1,hosts={a,b}", --set]`:                                                          nil,
	} {
		got := slices.DeleteFunc(likely(t, pod("args: "+args)), func(image string) bool { return image == "quay.io/shop/operator:1" })
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", args, got, want)
		}
	}
}

// TestHub: a hub and a tag apply to all images below.
func TestHub(t *testing.T) {
	for values, want := range map[string][]string{
		`{global: {hub: quay.io/mesh, tag: 1.2.0}, proxy: {image: proxy}, cni: {image: cni, tag: x}}`: {"quay.io/mesh/cni:x", "quay.io/mesh/proxy:1.2.0"},
		`{hub: quay.io/mesh, tag: 1.2.0, a: {b: {image: proxy}}}`:                                     {"quay.io/mesh/proxy:1.2.0"},
		`{hub: quay.io/mesh, tag: 1.2.0, a: {image: "quay.io/x/y:1"}}`:                                {"quay.io/x/y:1"},
		`{hub: quay.io/mesh, tag: 1.2.0, a: {hub: quay.io/own, tag: 2.0.0, b: {image: proxy}}}`:       {"quay.io/own/proxy:2.0.0"},
		`{hub: quay.io/mesh, a: {image: "logo.svg"}}`:                                                 nil,
		`{tag: 1.2.0, a: {image: "logo.svg"}}`:                                                        nil,
		`{hub: "http://a b", tag: 1.2.0, a: {image: "logo.svg"}}`:                                     nil,
	} {
		if got := likely(t, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {values: %q}\n", values)); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", values, got, want)
		}
	}
}
