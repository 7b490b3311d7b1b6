package verify

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/verify/nodereport"
	"airgap.dev/airgap/verify/result"
)

// TestReaderRole: a user with only this role verifies everything, including the reports of the
// hosts. Without access to one resource, the report names that resource.
func TestReaderRole(t *testing.T) {
	t.Parallel()
	b := newTestCluster(t)
	b.must(nodereport.Step(nil, func() (*rest.Config, error) { return b.server.Config, nil }).Run(t.Context()))
	o := b.options()
	o.API = rest.CopyConfig(o.API)
	o.API.Impersonate = rest.ImpersonationConfig{UserName: "auditor"}
	b.binds("auditor", o.API, readerRole(t))
	r := b.verify(o)
	if text := inJSON(t, r); strings.Contains(text, "forbidden") {
		t.Errorf("a request is forbidden:\n%s", text)
	}
	for _, rule := range r.Rules {
		if rule.Outcome == result.Unseen && rule.Why != "no NodeReport: cp1" {
			t.Errorf("%s is unseen: %s", rule.ID, rule.Why)
		}
	}
	wantSaw(t, r.Findings, Finding{Object: "NodeReport cp1", Saw: "it does not exist"})
	client, err := kubernetes.NewForConfig(o.API)
	b.must(err)
	if id, err := ClusterID(t.Context(), client, nil); err != nil || id == "" {
		t.Errorf("cluster ID: %q, %v", id, err)
	}

	less := readerRole(t)
	for i := range less.Rules {
		less.Rules[i].Resources = slices.DeleteFunc(less.Rules[i].Resources, func(r string) bool { return r == "daemonsets" })
	}
	b.binds("auditor", o.API, less)
	o.Timeout = 8e9
	r = b.verify(o)
	text := inJSON(t, r)
	if r.OK || !strings.Contains(text, `cannot list resource \"daemonsets\"`) && !strings.Contains(text, `cannot watch resource \"daemonsets\"`) {
		t.Errorf("the report does not name the missing verb and resource:\n%s", text)
	}
}

// TestHiddenKind: without access to namespaces, the rule terminating reports the findings of other
// kinds, but it is not ok.
func TestHiddenKind(t *testing.T) {
	t.Parallel()
	b := newTestCluster(t)
	less := readerRole(t)
	for _, r := range less.Rules {
		if i := slices.Index(r.Resources, "namespaces"); i >= 0 {
			r.Resources[i] = "none"
		}
	}
	o := b.options()
	o.API, o.Only, o.Timeout = rest.CopyConfig(o.API), []string{"terminating"}, 3*time.Second
	o.API.Impersonate = rest.ImpersonationConfig{UserName: "auditor"}
	b.binds("auditor", o.API, less)
	r := b.verify(o)
	got := ruleOf(t, r, "terminating")
	if r.OK || got.Outcome != result.Unseen || !strings.Contains(got.Why, "Kind namespaces") || !strings.Contains(got.Fix, "--resource=namespaces") {
		t.Errorf("ok %v, %+v", r.OK, got)
	}
	b.pod(pod("kube-system", "lost", "w9"))
	r = b.verify(o)
	wantSaw(t, r.Findings[len(r.Findings)-1:], Finding{Object: "Pod kube-system/lost", Saw: "its node w9 does not exist"})
}

// TestReaderRoleReadsNoSecrets: the role allows no writes, no resources without a rule, and only the ConfigMap of owed hosts.
func TestReaderRoleReadsNoSecrets(t *testing.T) {
	for _, rule := range readerRole(t).Rules {
		for _, verb := range rule.Verbs {
			if !slices.Contains([]string{"get", "list", "watch"}, verb) {
				t.Errorf("the role allows %s of %v", verb, rule.Resources)
			}
		}
		for _, resource := range append(slices.Clone(rule.Resources), rule.APIGroups...) {
			if resource == "configmaps" && slices.Equal(rule.ResourceNames, []string{"airgap-owed"}) {
				continue
			}
			if slices.Contains([]string{"*", "secrets", "configmaps", "pods/log", "pods/exec"}, resource) {
				t.Errorf("the role allows reading %s", resource)
			}
		}
	}
}

func readerRole(t *testing.T) *rbacv1.ClusterRole {
	t.Helper()
	role := &rbacv1.ClusterRole{}
	objects := ReaderObjects()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(objects[0].Object, role); err != nil || len(objects) != 1 || role.Name != ReaderRole {
		t.Fatalf("%v: %v", objects, err)
	}
	return role
}

// binds creates or changes the role and binds it to the user. It waits until the API server applies
// the access to DaemonSets.
func (b *testCluster) binds(user string, as *rest.Config, role *rbacv1.ClusterRole) {
	b.t.Helper()
	_, err := b.client.RbacV1().ClusterRoles().Update(b.t.Context(), role, metav1.UpdateOptions{}) // an update creates it too
	b.must(err)
	_, err = b.client.RbacV1().ClusterRoleBindings().Create(b.t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user}, RoleRef: rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: "User", Name: user, APIGroup: "rbac.authorization.k8s.io"}},
	}, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		b.must(err)
	}
	client, err := kubernetes.NewForConfig(as)
	b.must(err)
	may := slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "daemonsets") })
	b.must(wait.PollUntilContextTimeout(b.t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := client.AppsV1().DaemonSets("").List(ctx, metav1.ListOptions{})
		return (err == nil) == may, nil
	}))
}

func inJSON(t *testing.T, r result.Report) string {
	t.Helper()
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
