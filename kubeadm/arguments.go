package kubeadm

import (
	"slices"
	"strings"

	"airgap.dev/airgap/internal/overlay"
	"airgap.dev/airgap/kubeadm/node"
)

// argument is a command-line argument of a control-plane program.
type argument struct{ name, value string }

// extraArgs are the site's arguments for a program. kubeadm accepts the same name several
// times.
func (c Config) extraArgs(part node.Part) []argument {
	return argumentsOf(c.Overrides.ClusterConfiguration, part)
}

// sectionOf is the section of ClusterConfiguration with a program's arguments.
func sectionOf(part node.Part) string {
	return map[node.Part]string{node.APIServer: "apiServer", node.ControllerManager: "controllerManager", node.Scheduler: "scheduler", node.Etcd: "etcd"}[part]
}

// component is the section of a ClusterConfiguration for one program.
func component(cluster object, part node.Part) object {
	section, _ := cluster[sectionOf(part)].(map[string]any)
	if part == node.Etcd {
		section, _ = section["local"].(map[string]any)
	}
	return section
}

func argumentsOf(cluster object, part node.Part) []argument {
	list, _ := component(cluster, part)["extraArgs"].([]any)
	return argumentsOfList(list)
}

// argumentsOfList are the arguments in a list of kubeadm's extraArgs.
func argumentsOfList(list []any) []argument {
	var all []argument
	for _, item := range list {
		arg, _ := item.(map[string]any)
		value, _ := arg["value"].(string)
		all = append(all, argument{overlay.NameOf(item), value})
	}
	return all
}

// valuesOf are the values of the arguments with this name, in order.
func valuesOf(args []argument, name string) []string {
	var all []string
	for _, a := range args {
		if a.name == name {
			all = append(all, a.value)
		}
	}
	return all
}

// words are the elements of comma-separated lists, without duplicates.
func words(lists []string) []string {
	var all []string
	for _, list := range lists {
		for word := range strings.SplitSeq(list, ",") {
			if word = strings.TrimSpace(word); word != "" && !slices.Contains(all, word) {
				all = append(all, word)
			}
		}
	}
	return all
}

const (
	pluginsArg      = "enable-admission-plugins"
	nodeRestriction = "NodeRestriction"
)

// joinLists adds to the site's lists the elements that they would replace: kubeadm's admission
// plugin, and airgap's names in the API server's certificate.
func joinLists(merged, base object) object {
	server, _ := merged["apiServer"].(map[string]any)
	ours, _ := base["apiServer"].(map[string]any)
	over := object{"certSANs": addMissing(ours["certSANs"], server["certSANs"])}
	if plugins := valuesOf(argumentsOf(merged, node.APIServer), pluginsArg); len(plugins) > 0 {
		all := words(append([]string{nodeRestriction}, plugins...))
		over["extraArgs"] = []any{object{"name": pluginsArg, "value": strings.Join(all, ",")}}
	}
	return overlay.Merge(merged, object{"apiServer": over})
}

func addMissing(lists ...any) []any {
	var all []any
	for _, list := range lists {
		list, _ := list.([]any)
		for _, item := range list {
			if !slices.Contains(all, item) {
				all = append(all, item)
			}
		}
	}
	return all
}
