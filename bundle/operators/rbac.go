package operators

import (
	"slices"
	"strings"

	"airgap.dev/airgap/bundle/workload"
)

// creators are the service accounts that can create pods or workloads.
type creators struct {
	accounts map[string]bool // "namespace/name"; "namespace/*" and "*" for whole groups
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
	return c.accounts[namespace+"/"+name] || c.accounts[namespace+"/*"] || c.accounts["*"]
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

// account is the key of a subject; "" for a subject that is not a service account.
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

// creatingRoles are the roles with the right, as "ClusterRole/NAME" and
// "Role/NAMESPACE/NAME". An aggregated role has the right if each label of its
// selector is on some role with the right. This can report a role too many and
// misses none.
func creatingRoles(sets []Set) map[string]bool {
	roles := map[string]bool{"ClusterRole/cluster-admin": true, "ClusterRole/admin": true, "ClusterRole/edit": true}
	labels := map[string]bool{}
	each := func(use func(workload.Object, string)) {
		for _, s := range sets {
			for _, o := range s.Objects {
				switch kind := o.GetKind(); {
				case o.GroupVersionKind().Group != rbacGroup:
				case kind == "ClusterRole":
					use(o, "ClusterRole/"+o.GetName())
				case kind == "Role":
					use(o, "Role/"+namespaceOf(o, s)+"/"+o.GetName())
				}
			}
		}
	}
	each(func(o workload.Object, key string) {
		if rules, _ := o.Object["rules"].([]any); slices.ContainsFunc(rules, creates) {
			roles[key] = true
			for k, v := range o.GetLabels() {
				labels[k+"="+v] = true
			}
		}
	})
	each(func(o workload.Object, key string) {
		if aggregates(o, labels) {
			roles[key] = true
		}
	})
	return roles
}

func aggregates(o workload.Object, labels map[string]bool) bool {
	list, _ := fieldOf(o.Object, "aggregationRule.clusterRoleSelectors").([]any)
	for _, item := range list {
		selector, _ := item.(map[string]any)
		wanted, _ := selector["matchLabels"].(map[string]any)
		all := len(wanted) > 0
		for k, v := range wanted {
			all = all && labels[k+"="+text(v)]
		}
		if all {
			return true
		}
	}
	return false
}

// podMakers are the resources that run pods, by API group.
func podMakers() map[string][]string {
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
	for group, resources := range podMakers() {
		if has(rule["apiGroups"], group) && slices.ContainsFunc(resources, func(r string) bool { return has(rule["resources"], r) }) {
			return true
		}
	}
	return false
}

// has reports whether a list has a word, or the star that stands for all.
func has(list any, word string) bool {
	items, _ := list.([]any)
	return slices.ContainsFunc(items, func(item any) bool { return item == word || item == "*" })
}
