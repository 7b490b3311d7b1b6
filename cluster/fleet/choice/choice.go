// Package choice selects the hosts that a command works on: --limit, --except and --max-failures.
package choice

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/hostrange"
)

// Choice says which hosts a command works on, and how many of them may fail.
type Choice struct {
	Limit, Except []string // values of --limit and --except: names, ranges node[001-010], group:NAME, rack:NAME
	MaxFailures   int      // hosts that may fail while the command goes on with the others; 0: none
}

const (
	groupPrefix = "group:"
	rackPrefix  = "rack:"

	maxShown = 300 // characters of the names in an error
)

// Of returns the nodes that the choice includes, in the order of airgap.yaml, and those that it leaves out. Absent
// nodes are always left out. The error is a mistake of the user: an empty item, an unknown name, group or rack, a
// bad range, an absent node in --limit, or no node left. A node can be named twice.
func (c Choice) Of(nodes []config.Node) (in, out []config.Node, err error) {
	limit, err := named("--limit", c.Limit, nodes)
	if err != nil {
		return nil, nil, err
	}
	except, err := named("--except", c.Except, nodes)
	if err != nil {
		return nil, nil, err
	}
	if c.MaxFailures < 0 {
		return nil, nil, advice.Usagef("--max-failures %d: want 0 or a number of hosts", c.MaxFailures)
	}
	for _, n := range nodes {
		if n.Absent == nil && (c.Limit == nil || limit[n.Name]) && !except[n.Name] {
			in = append(in, n)
		} else {
			out = append(out, n)
		}
	}
	if len(in) == 0 && len(out) > 0 {
		return nil, nil, advice.Add(advice.Usagef("--limit and --except leave no host of %s", shown(nodes)), "name at least one host that the command may work on")
	}
	return in, out, nil
}

// Others is Of for the other hosts of a command that works on the host self in any case.
func (c Choice) Others(nodes []config.Node, self string) (in, out []config.Node, err error) {
	in, out, err = c.Of(nodes)
	if err != nil {
		return nil, nil, err
	}
	except, err := named("--except", c.Except, nodes)
	if err != nil {
		return nil, nil, err
	}
	if except[self] {
		return nil, nil, advice.Add(advice.Usagef("--except %s: the command runs on this host, and always works on it", self), "leave it out of --except")
	}
	is := func(n config.Node) bool { return n.Name == self }
	return slices.DeleteFunc(in, is), slices.DeleteFunc(out, is), nil
}

// Why says why the choice left a node out, for the record of owed hosts.
func (c Choice) Why(n config.Node, nodes []config.Node) string {
	if n.Absent != nil {
		return "absent: " + n.Absent.Reason
	}
	if except, err := named("--except", c.Except, nodes); err == nil && except[n.Name] {
		return "left out with --except"
	}
	return "left out with --limit"
}

// named returns the names of the nodes that the values of a flag stand for.
func named(flag string, values []string, nodes []config.Node) (map[string]bool, error) {
	all := map[string]bool{}
	for _, value := range values {
		for _, item := range itemsOf(value, nodes) {
			names, err := one(item, nodes)
			if err != nil {
				return nil, advice.Add(advice.Usage(fmt.Errorf("%s %s: %w", flag, cmp.Or(value, `""`), err)),
					"%s expects names of airgap.yaml, ranges such as node[001-010], group:NAME or rack:NAME, with commas between them", flag)
			}
			for _, name := range names {
				if absent := absentIn(name, nodes); absent != nil && flag == "--limit" && !strings.Contains(item, ":") {
					return nil, advice.Add(advice.Usagef("--limit %s: %s is absent by airgap.yaml: %s", value, name, absent.Reason),
						"remove nodes[].absent of %s from airgap.yaml when it is back", name)
				}
				all[name] = true
			}
		}
	}
	return all, nil
}

func absentIn(name string, nodes []config.Node) *config.Absent {
	if i := slices.IndexFunc(nodes, func(n config.Node) bool { return n.Name == name }); i >= 0 {
		return nodes[i].Absent
	}
	return nil
}

// itemsOf splits a list, unless all of it is one rack: the name of a rack may have commas.
func itemsOf(value string, nodes []config.Node) []string {
	rack, is := strings.CutPrefix(strings.TrimSpace(value), rackPrefix)
	if is && slices.ContainsFunc(nodes, func(n config.Node) bool { return n.Rack == rack }) {
		return []string{value}
	}
	return items(value)
}

// items splits a list at the commas outside of brackets.
func items(list string) []string {
	var all []string
	depth, from := 0, 0
	for i, r := range list {
		switch r {
		case '[':
			depth++
		case ']':
			depth--
		case ',':
			if depth <= 0 {
				all, from = append(all, list[from:i]), i+1
			}
		}
	}
	return append(all, list[from:])
}

// one returns the names of the nodes that an item stands for.
func one(item string, nodes []config.Node) ([]string, error) {
	item = strings.TrimSpace(item)
	if item == "" {
		return nil, fmt.Errorf("an item is empty: want the name of a host, as in airgap.yaml: %s", shown(nodes))
	}
	if name, is := strings.CutPrefix(item, groupPrefix); is {
		return having("group", name, nodes, func(n config.Node) string { return n.Group })
	}
	if name, is := strings.CutPrefix(item, rackPrefix); is {
		return having("rack", name, nodes, func(n config.Node) string { return n.Rack })
	}
	names, err := hostrange.Expand(item)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, n := range nodes {
		known[n.Name] = true
	}
	var unknown []string
	for _, name := range names {
		if !known[name] {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		return nil, fmt.Errorf("airgap.yaml has no node %.*s%s; it has %s", maxShown, hostrange.Join(unknown), didYouMean(unknown, nodes), shown(nodes))
	}
	return names, nil
}

func didYouMean(unknown []string, nodes []config.Node) string {
	if len(unknown) != 1 {
		return ""
	}
	return advice.DidYouMean(unknown[0], namesOf(nodes))
}

// having returns the nodes with this value of a property.
func having(kind, value string, nodes []config.Node, property func(config.Node) string) ([]string, error) {
	var names, values []string
	for _, n := range nodes {
		has := property(n)
		if has == "" {
			continue
		}
		if has == value {
			names = append(names, n.Name)
		}
		if !slices.Contains(values, has) {
			values = append(values, has)
		}
	}
	if len(names) > 0 {
		return names, nil
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("no node of airgap.yaml has a %s", kind)
	}
	return nil, fmt.Errorf("no node of airgap.yaml has the %s %q%s; it has %.*s", kind, value, advice.DidYouMean(value, values), maxShown, strings.Join(values, ", "))
}

func namesOf(nodes []config.Node) []string {
	names := make([]string, len(nodes))
	for i, n := range nodes {
		names[i] = n.Name
	}
	return names
}

// shown are the names of nodes, as ranges and not too long.
func shown(nodes []config.Node) string {
	text := hostrange.Join(namesOf(nodes))
	if len(text) > maxShown {
		return text[:maxShown] + "…"
	}
	return text
}
