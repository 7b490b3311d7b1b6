package main

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/internal/settings"
	"airgap.dev/airgap/verify/dataplane"
	"airgap.dev/airgap/verify/dataplane/deploy"
)

// TestRightsOfOurAccounts lists the API permissions of the ServiceAccounts in the manifests of airgap.
// A wider role fails the test: first decide whether an admission policy must limit it.
func TestRightsOfOurAccounts(t *testing.T) {
	flannel, err := cni.Objects(cni.Config{Plugin: "flannel"}, cni.Cluster{PodSubnet: "10.244.0.0/16"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	tries, err := deploy.Objects("airgap", settings.HostPort, dataplane.Etcd{})
	if err != nil {
		t.Fatal(err)
	}
	cards, err := gpu.Plugin{Image: "nvidia"}.Objects()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		of         string
		objects    []*unstructured.Unstructured
		want       []string
		withTokens bool // its pods have a token
	}{
		{"flannel", flannel, []string{
			"ClusterRole flannel: get,list,watch nodes",
			"ClusterRole flannel: patch nodes/status", // policy airgap-flannel: of the pod's node
			"bound to ServiceAccount flannel",
		}, true},
		{"data-plane", tries, []string{
			"Role data-plane: list endpointslices",
			"Role data-plane: get services data-plane",
			"Role data-plane: patch pods/status", // policy airgap-data-plane: one condition of the token's pod
			"bound to ServiceAccount data-plane",
		}, true},
		{"device plugin", cards, nil, false},
	} {
		var got []string
		for _, o := range c.objects {
			got = append(got, rightsIn(t, o)...)
			if o.GetKind() != "DaemonSet" && o.GetKind() != "Deployment" {
				continue
			}
			token, said, _ := unstructured.NestedBool(o.Object, "spec", "template", "spec", "automountServiceAccountToken")
			if has := token || !said; has != c.withTokens {
				t.Errorf("%s: its pods have a token: %v, want %v", c.of, has, c.withTokens)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%q, want\n%q", c.of, got, c.want)
		}
	}
}

// rightsIn returns the rules of a role, or the subjects of a binding.
func rightsIn(t *testing.T, o *unstructured.Unstructured) []string {
	t.Helper()
	var rights []string
	switch o.GetKind() {
	case "Role", "ClusterRole":
		var role rbacv1.ClusterRole // a Role has the same rules
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role); err != nil {
			t.Fatal(err)
		}
		for _, r := range role.Rules {
			right := strings.Join(r.Verbs, ",") + " " + strings.Join(slices.Concat(r.Resources, r.NonResourceURLs), ",")
			if len(r.ResourceNames) > 0 {
				right += " " + strings.Join(r.ResourceNames, ",")
			}
			rights = append(rights, o.GetKind()+" "+o.GetName()+": "+right)
		}
	case "RoleBinding", "ClusterRoleBinding":
		var binding rbacv1.ClusterRoleBinding
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &binding); err != nil {
			t.Fatal(err)
		}
		for _, s := range binding.Subjects {
			rights = append(rights, "bound to "+s.Kind+" "+s.Name)
		}
	}
	return rights
}
