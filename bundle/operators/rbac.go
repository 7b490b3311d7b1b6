package operators

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"airgap.dev/airgap/bundle/workload"
)

// creators has the service accounts that can create pods or workloads.
type creators struct {
	// "namespace/name"; "namespace/*" and "*" for groups. "/name" is an account in an
	// unknown namespace.
	accounts map[string]bool
}

// may reports whether the pods of a workload run with such an account.
func (c creators) may(o workload.Object, namespace string) bool {
	if ns := o.GetNamespace(); ns != "" {
		namespace = ns
	}
	spec := podSpec(o)
	name := text(spec["serviceAccountName"])
	if name == "" {
		name = text(spec["serviceAccount"]) // the older name of the field
	}
	if name == "" {
		name = "default"
	}
	if namespace == "" {
		return c.mayAnywhere(name)
	}
	return c.accounts[namespace+"/"+name] || c.accounts["/"+name] || c.accounts[namespace+"/*"] || c.accounts["*"]
}

// mayAnywhere reports whether an account has the right in any namespace. It is for files
// with objects for kubectl apply --namespace: their namespace is not known.
func (c creators) mayAnywhere(name string) bool {
	for account := range c.accounts {
		if _, of, _ := strings.Cut(account, "/"); of == name || of == "*" {
			return true
		}
	}
	return c.accounts["*"]
}

const rbacGroup = "rbac.authorization.k8s.io"

// creatorsOf follows the bindings of all sets to the roles of all sets and to
// the built-in roles of Kubernetes.
func creatorsOf(sets []Set) creators {
	roles := creatingRoles(sets)
	c := creators{accounts: map[string]bool{}}
	for _, s := range sets {
		for _, o := range s.Objects {
			kind, namespace := o.GetKind(), namespaceOf(o, s)
			if o.GroupVersionKind().Group != rbacGroup || kind != "ClusterRoleBinding" && kind != "RoleBinding" {
				continue
			}
			ref, _ := o.Object["roleRef"].(map[string]any)
			role := "ClusterRole/" + text(ref["name"])
			if ref["kind"] == "Role" {
				role = "Role/" + namespace + "/" + text(ref["name"])
			}
			if !roles[role] {
				continue
			}
			subjects, _ := o.Object["subjects"].([]any)
			for _, item := range subjects {
				if subject, is := item.(map[string]any); is {
					c.accounts[account(subject, namespace)] = true
				}
			}
		}
	}
	delete(c.accounts, "")
	return c
}

func namespaceOf(o workload.Object, s Set) string {
	if ns := o.GetNamespace(); ns != "" {
		return ns
	}
	return s.Namespace
}

// account returns the key of a subject; "" for a subject that is not a service account.
func account(subject map[string]any, namespace string) string {
	name := text(subject["name"])
	switch subject["kind"] {
	case "ServiceAccount":
		if ns := text(subject["namespace"]); ns != "" {
			namespace = ns
		}
		return namespace + "/" + name
	case "User":
		if rest, is := strings.CutPrefix(name, "system:serviceaccount:"); is {
			return strings.Replace(rest, ":", "/", 1)
		}
	case "Group":
		if ns, is := strings.CutPrefix(name, "system:serviceaccounts:"); is {
			return ns + "/*"
		}
		if name == "system:serviceaccounts" || name == "system:authenticated" {
			return "*"
		}
	}
	return ""
}

// role is a role with its labels and aggregation rule.
type role struct {
	key        string // "ClusterRole/NAME", "Role/NAMESPACE/NAME"
	labels     labels.Set
	aggregates []labels.Selector
	creates    bool
}

// creatingRoles returns the keys of roles with the right, through their own rules or the
// rules of aggregated roles.
func creatingRoles(sets []Set) map[string]bool {
	all := builtinRoles()
	for _, s := range sets {
		for _, o := range s.Objects {
			rules, _ := o.Object["rules"].([]any)
			found := role{labels: o.GetLabels(), creates: slices.ContainsFunc(rules, creates)}
			switch kind := o.GetKind(); {
			case o.GroupVersionKind().Group != rbacGroup:
			case kind == "ClusterRole":
				found.key, found.aggregates = "ClusterRole/"+o.GetName(), selectorsOf(o)
				all = append(all, found)
			case kind == "Role":
				found.key = "Role/" + namespaceOf(o, s) + "/" + o.GetName()
				all = append(all, found)
			}
		}
	}
	aggregate(all)
	keys := map[string]bool{}
	for _, r := range all {
		keys[r.key] = keys[r.key] || r.creates
	}
	return keys
}

// maxAggregated limits the number of aggregated roles. All others count as roles with the
// right, so that no workload is missed.
const maxAggregated = 200

// aggregate sets the right for roles that aggregate a role with the right, directly or
// through other roles.
func aggregate(all []role) {
	var aggregated []*role
	var found []role // with the right, not yet compared
	for i := range all {
		switch r := &all[i]; {
		case !r.creates && len(r.aggregates) > 0 && len(aggregated) < maxAggregated:
			aggregated = append(aggregated, r)
		case !r.creates && len(r.aggregates) == 0 || !strings.HasPrefix(r.key, "ClusterRole/"):
		default:
			r.creates = true
			found = append(found, *r)
		}
	}
	for len(found) > 0 {
		next := []role{}
		for _, r := range aggregated {
			if !r.creates && r.selects(found) {
				r.creates = true
				next = append(next, *r)
			}
		}
		found = next
	}
}

func (r role) selects(found []role) bool {
	return slices.ContainsFunc(r.aggregates, func(s labels.Selector) bool {
		return slices.ContainsFunc(found, func(o role) bool { return s.Matches(o.labels) })
	})
}

// selectorsOf returns the selectors of an aggregated role. It omits selectors that the API
// server would reject.
func selectorsOf(o workload.Object) []labels.Selector {
	list, _ := fieldOf(o.Object, "aggregationRule.clusterRoleSelectors").([]any)
	var all []labels.Selector
	for _, item := range list {
		fields, _ := item.(map[string]any)
		var written metav1.LabelSelector
		if runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &written) != nil {
			continue
		}
		if selector, err := metav1.LabelSelectorAsSelector(&written); err == nil {
			all = append(all, selector)
		}
	}
	return all
}

// builtinRoles returns the roles of Kubernetes that create pods, or aggregate other roles:
// plugin/pkg/auth/authorizer/rbac/bootstrappolicy of Kubernetes 1.36.
func builtinRoles() []role {
	const to = "rbac.authorization.k8s.io/aggregate-to-"
	selector := func(of string) []labels.Selector {
		return []labels.Selector{labels.SelectorFromSet(labels.Set{to + of: "true"})}
	}
	all := []role{
		{key: "ClusterRole/cluster-admin", creates: true},
		{key: "ClusterRole/admin", creates: true},
		{key: "ClusterRole/edit", creates: true, labels: labels.Set{to + "admin": "true"}},
		{key: "ClusterRole/view", aggregates: selector("view"), labels: labels.Set{to + "edit": "true"}},
		{key: "ClusterRole/system:aggregate-to-edit", creates: true, labels: labels.Set{to + "edit": "true"}},
	}
	for i := range all {
		all[i].labels = labels.Merge(all[i].labels, labels.Set{"kubernetes.io/bootstrapping": "rbac-defaults"})
	}
	return all
}

// podResources returns the resources that run pods, by API group.
func podResources() map[string][]string {
	return map[string][]string{
		"":      {"pods", "replicationcontrollers"},
		"apps":  {"deployments", "statefulsets", "daemonsets", "replicasets"},
		"batch": {"jobs", "cronjobs"},
	}
}

// creates reports whether one rule of a role allows it. A rule with resourceNames
// does not: the API server does not know the name of a new object.
func creates(item any) bool {
	rule, _ := item.(map[string]any)
	if names, _ := rule["resourceNames"].([]any); len(names) > 0 || !has(rule["verbs"], "create") {
		return false
	}
	for group, resources := range podResources() {
		if has(rule["apiGroups"], group) && slices.ContainsFunc(resources, func(r string) bool { return has(rule["resources"], r) }) {
			return true
		}
	}
	return false
}

// has reports whether a list has a word or a star.
func has(list any, word string) bool {
	items, _ := list.([]any)
	return slices.ContainsFunc(items, func(item any) bool { return item == word || item == "*" })
}
