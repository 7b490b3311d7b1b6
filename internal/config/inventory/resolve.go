package inventory

import (
	"cmp"
	"maps"
	"slices"

	"airgap.dev/airgap/internal/config"
)

// Meanings of groups.
const (
	rackGroup  = "rack"
	etcdGroup  = "etcd"
	structural = "structural" // a group of groups
)

// meanings are those that --group can give a group.
func meanings() []string {
	return []string{string(config.ControlPlane), string(config.Worker), string(config.GPU), rackGroup}
}

// knownGroups are the groups of kubespray and usual names of others.
func knownGroups() map[string]string {
	all := map[string]string{}
	for meaning, names := range map[string][]string{
		string(config.ControlPlane): {"kube_control_plane", "kube-control-plane", "kube_master", "kube-master", "control_plane", "control-plane", "masters", "master"},
		string(config.Worker):       {"kube_node", "kube-node", "workers", "worker"},
		string(config.GPU):          {"gpu", "gpus", "gpu_nodes"},
		etcdGroup:                   {etcdGroup},
		structural:                  {"all", "ungrouped", "k8s_cluster", "k8s-cluster"},
	} {
		for _, name := range names {
			all[name] = meaning
		}
	}
	return all
}

// ansibleVariables are the variables that airgap reads, with the field of each.
func ansibleVariables() map[string]string {
	return map[string]string{
		"ansible_host": fieldHost, "ansible_ssh_host": fieldHost,
		"ansible_port": fieldPort, "ansible_ssh_port": fieldPort,
		"ansible_user": fieldUser, "ansible_ssh_user": fieldUser,
		"ansible_ssh_private_key_file": fieldKey, "ansible_private_key_file": fieldKey,
		"ip": fieldAddress, "access_ip": fieldAccess, "rack": fieldRack, "ansible_group_priority": fieldPriority,
	}
}

// resolve gives each host its variables, its roles and its rack, from its groups and their parents.
func (r *reader) resolve(t *tree) []entry {
	if t == nil || r.stopped {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(t.groups)) {
		if v, is := t.groups[name].variables[fieldPriority]; is && !isInteger(v.value) {
			r.fault(v.line, v.name, "want an integer, such as 10")
		}
		if _, err := t.depthOf(name); err != nil {
			r.fault(t.groups[name].line, "", "%v: want groups without a circle", err)
			return nil
		}
	}
	var all []entry
	for _, name := range t.order {
		h := t.hosts[name]
		groups := t.above(append(slices.Clone(h.groups), "all"))
		r.roles(h, groups)
		if len(h.roles) == 0 && r.ignored(groups) {
			r.leave("host", name, h.line, "only in groups that are left out")
			continue
		}
		if len(h.roles) == 0 {
			r.fault(h.line, name, "the host has no role: want it in a group such as kube_control_plane or kube_node, or name its group with --group GROUP=worker, or leave the group out with --ignore GROUP")
		}
		h.variables = t.inherited(h, groups)
		all = append(all, *h)
	}
	r.leaveGroups(t)
	return all
}

// ignored reports whether a host is in a group that is left out.
func (r *reader) ignored(groups map[string]bool) bool {
	for g := range groups {
		if r.ignore[g] {
			return true
		}
	}
	return false
}

// roles sets the roles and the rack of the host.
func (r *reader) roles(h *entry, groups map[string]bool) {
	found := map[string]bool{}
	for _, g := range slices.Sorted(maps.Keys(groups)) {
		meaning := r.meanings[g]
		found[meaning] = true
		if meaning != rackGroup {
			continue
		}
		if h.rack != "" {
			r.fault(h.line, h.name, "the host is in the racks %s and %s: want one", h.rack, g)
		}
		h.rack = g
	}
	for _, role := range []config.Role{config.ControlPlane, config.Worker, config.GPU} {
		if found[string(role)] {
			h.roles = append(h.roles, string(role))
		}
	}
	if found[etcdGroup] && !found[string(config.ControlPlane)] {
		r.fault(h.line, h.name, "the host is in the group etcd and no control-plane host: airgap runs etcd on the control-plane hosts. Remove it from the group, or leave the group out with --ignore etcd")
	}
}

// inherited is the variables of a host, after those of its groups, the weakest first. Among groups of the same depth
// ansible_group_priority decides, then the name, as in Ansible.
func (t *tree) inherited(h *entry, groups map[string]bool) map[string]variable {
	order := slices.SortedFunc(maps.Keys(groups), func(a, b string) int {
		return cmp.Or(cmp.Compare(t.groups[a].depth, t.groups[b].depth), cmp.Compare(t.groups[a].priority(), t.groups[b].priority()), cmp.Compare(a, b))
	})
	all := map[string]variable{}
	for _, g := range order {
		maps.Copy(all, t.groups[g].variables)
	}
	maps.Copy(all, h.variables)
	return all
}

// leaveGroups names the groups that give a host nothing.
func (r *reader) leaveGroups(t *tree) {
	used := map[string]bool{}
	for _, h := range t.hosts {
		for _, g := range h.groups {
			used[g] = true
		}
	}
	for _, g := range slices.SortedFunc(maps.Keys(t.groups), func(a, b string) int {
		return cmp.Or(cmp.Compare(t.groups[a].line, t.groups[b].line), cmp.Compare(a, b))
	}) {
		if r.ignore[g] {
			r.leave("group", g, t.groups[g].line, "")
			continue
		}
		meaning := false
		for above := range t.above([]string{g}) {
			meaning = meaning || r.meanings[above] != "" && r.meanings[above] != structural
		}
		if used[g] && !meaning && r.meanings[g] == "" {
			r.leave("group", g, t.groups[g].line, "it gives no role and no rack; --group "+g+"=MEANING gives it one")
		}
	}
}
