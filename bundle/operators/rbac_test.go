package operators_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/bundle/operators"
)

// TestUnknownOperators: roles and bindings, including built-in roles, decide whether a
// workload can create pods.
func TestUnknownOperators(t *testing.T) {
	const (
		group   = "apiVersion: rbac.authorization.k8s.io/v1\n"
		subject = "subjects: [{kind: ServiceAccount, name: w, namespace: ns}]\n"
	)
	role := func(kind, rule string) string {
		return group + "kind: " + kind + "\nmetadata: {name: r, labels: {gather: r}}\nrules: [" + rule + "]\n---\n"
	}
	bind := func(kind, to string, subjects string) string {
		of, name, _ := strings.Cut(to, "/")
		return group + "kind: " + kind + "\nmetadata: {name: b}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: " + of + ", name: " + name + "}\n" + subjects
	}
	aggregated := func(selector string) string {
		return group + "kind: ClusterRole\nmetadata: {name: all}\naggregationRule: {clusterRoleSelectors: [{" + selector + "}]}\n---\n"
	}
	aggregates := func(selector string) string {
		return aggregated(selector) + bind("ClusterRoleBinding", "ClusterRole/all", subject)
	}
	all := func(rule string) string {
		return role("ClusterRole", rule) + bind("ClusterRoleBinding", "ClusterRole/r", subject)
	}
	const pods = `{apiGroups: [""], resources: [pods], verbs: [get, create]}`
	for name, tc := range map[string]struct {
		objects string
		may     bool
	}{
		"pods":                         {all(pods), true},
		"jobs in a namespace":          {role("Role", `{apiGroups: [batch], resources: [jobs], verbs: ["*"]}`) + bind("RoleBinding", "Role/r", subject), true},
		"a ClusterRole in a namespace": {role("ClusterRole", `{apiGroups: ["*"], resources: [daemonsets], verbs: [create]}`) + bind("RoleBinding", "ClusterRole/r", subject), true},
		"everything":                   {all(`{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}`), true},
		"cluster-admin":                {bind("ClusterRoleBinding", "ClusterRole/cluster-admin", subject), true},
		"by its user":                  {role("ClusterRole", pods) + bind("ClusterRoleBinding", "ClusterRole/r", "subjects: [{kind: User, name: 'system:serviceaccount:ns:w'}]\n"), true},
		"by its group":                 {role("ClusterRole", pods) + bind("ClusterRoleBinding", "ClusterRole/r", "subjects: [{kind: Group, name: 'system:serviceaccounts:ns'}]\n"), true},
		"by the group of all":          {role("ClusterRole", pods) + bind("ClusterRoleBinding", "ClusterRole/r", "subjects: [{kind: Group, name: 'system:serviceaccounts'}]\n"), true},
		"an aggregated role":           {role("ClusterRole", pods) + aggregates(`matchLabels: {gather: r}`), true},
		"admin":                        {bind("RoleBinding", "ClusterRole/admin", subject), true},
		"edit":                         {bind("ClusterRoleBinding", "ClusterRole/edit", subject), true},
		"view":                         {bind("ClusterRoleBinding", "ClusterRole/view", subject), false},
		"a role that view aggregates": {
			strings.Replace(role("ClusterRole", pods), "gather: r", `rbac.authorization.k8s.io/aggregate-to-view: "true"`, 1) + bind("ClusterRoleBinding", "ClusterRole/view", subject), true,
		},
		"the same aggregation as edit": {aggregates(`matchLabels: {rbac.authorization.k8s.io/aggregate-to-edit: "true"}`), true},
		"an expression":                {role("ClusterRole", pods) + aggregates(`matchExpressions: [{key: gather, operator: In, values: [q, r]}]`), true},
		"an expression and labels":     {role("ClusterRole", pods) + aggregates(`matchLabels: {gather: r}, matchExpressions: [{key: gather, operator: Exists}]`), true},
		"an expression that excludes":  {role("ClusterRole", pods) + aggregates(`matchLabels: {gather: r}, matchExpressions: [{key: gather, operator: NotIn, values: [r]}]`), false},
		"labels of two roles": {
			role("ClusterRole", pods) + strings.NewReplacer("name: r", "name: q", "gather: r", "other: q").Replace(role("ClusterRole", pods)) +
				aggregates(`matchLabels: {gather: r, other: q}`), false,
		},
		"no selector": {role("ClusterRole", pods) + aggregates(`matchExpressions: [{key: gather, operator: Near}]`), false},
		"a role that aggregates an aggregated role": {
			role("ClusterRole", pods) + strings.Replace(aggregated(`matchLabels: {gather: r}`), "name: all", "name: most, labels: {most: m}", 1) +
				aggregates(`matchLabels: {most: m}`), true,
		},
		"another account":           {role("ClusterRole", pods) + bind("ClusterRoleBinding", "ClusterRole/r", "subjects: [{kind: ServiceAccount, name: x, namespace: ns}]\n"), false},
		"another namespace":         {role("ClusterRole", pods) + bind("ClusterRoleBinding", "ClusterRole/r", "subjects: [{kind: ServiceAccount, name: w, namespace: other}]\n"), false},
		"reads pods":                {all(`{apiGroups: [""], resources: [pods], verbs: [get, list, watch, delete]}`), false},
		"evicts pods":               {all(`{apiGroups: [""], resources: [pods/eviction], verbs: [create]}`), false},
		"another group":             {all(`{apiGroups: [metrics.k8s.io], resources: [pods], verbs: [create]}`), false},
		"a role without a binding":  {role("ClusterRole", pods), false},
		"one object by its name":    {all(`{apiGroups: [""], resources: [pods], verbs: [create], resourceNames: [p]}`), false},
		"a user":                    {role("ClusterRole", pods) + bind("ClusterRoleBinding", "ClusterRole/r", "subjects: [{kind: User, name: w}]\n"), false},
		"a role without rules":      {all(""), false},
		"a binding of another kind": {role("ClusterRole", pods) + "apiVersion: v1\nkind: RoleBinding\nmetadata: {name: b}\nroleRef: {kind: ClusterRole, name: r}\n" + subject, false},
	} {
		t.Run(name, func(t *testing.T) {
			sets := []operators.Set{set(t, "add-on w", run("Deployment", "w", "registry.example/w:1", "")), set(t, "add-on roles", tc.objects)}
			found := operators.Find(sets, builtin(t))
			if (len(found) == 1) != tc.may || len(refsOf(found)) > 0 {
				t.Fatalf("operators are %+v", found)
			}
			if tc.may && (found[0].By != "add-on w: Deployment ns/w" || found[0].Image != "registry.example/w:1" || found[0].Rule != "" || !strings.Contains(found[0].Warnings[0], "images.list")) {
				t.Errorf("%+v", found[0])
			}
		})
	}
}

// TestUnknownNamespace: the namespace of files that are only bundled is not known, so an
// account of this name in any namespace counts.
func TestUnknownNamespace(t *testing.T) {
	const group = "apiVersion: rbac.authorization.k8s.io/v1\n"
	bind := func(kind, subjects string) string {
		return group + "kind: " + kind + "\nmetadata: {name: b}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}\nsubjects: [" + subjects + "]\n"
	}
	namespaced := strings.Replace(run("Deployment", "w", "registry.example/w:1", ""), "{name: w}", "{name: w, namespace: ns}", 1)
	unplaced := run("Deployment", "w", "registry.example/w:1", "")
	for name, tc := range map[string]struct {
		objects string
		may     bool
	}{
		"a subject with a namespace":      {unplaced + bind("ClusterRoleBinding", "{kind: ServiceAccount, name: w, namespace: other}"), true},
		"a subject without one":           {unplaced + bind("RoleBinding", "{kind: ServiceAccount, name: w}"), true},
		"all accounts of a namespace":     {unplaced + bind("ClusterRoleBinding", "{kind: Group, name: 'system:serviceaccounts:other'}"), true},
		"all accounts":                    {unplaced + bind("ClusterRoleBinding", "{kind: Group, name: 'system:serviceaccounts'}"), true},
		"another account":                 {unplaced + bind("ClusterRoleBinding", "{kind: ServiceAccount, name: x, namespace: other}"), false},
		"a workload with a namespace":     {namespaced + bind("RoleBinding", "{kind: ServiceAccount, name: w}"), true},
		"a workload of another namespace": {namespaced + bind("ClusterRoleBinding", "{kind: ServiceAccount, name: w, namespace: other}"), false},
	} {
		files := set(t, "roles", tc.objects)
		files.Namespace = ""
		if found := operators.Find([]operators.Set{files}, builtin(t)); (len(found) == 1) != tc.may {
			t.Errorf("%s: operators are %+v", name, found)
		}
	}
}

// TestManyRoles: a file with many nested aggregated roles does not take long.
func TestManyRoles(t *testing.T) {
	var text strings.Builder
	for i := range 5000 {
		text.WriteString("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\n")
		fmt.Fprintf(&text, "metadata: {name: r%d, labels: {l%d: x}}\naggregationRule: {clusterRoleSelectors: [{matchLabels: {l%d: x}}]}\n---\n", i, i, i+1)
	}
	from := time.Now()
	operators.Find([]operators.Set{set(t, "f", text.String())}, nil)
	if took := time.Since(from); took > 10*time.Second {
		t.Errorf("Find took %v", took)
	}
}
