package inventory

import (
	"fmt"
	"slices"
	"strconv"

	"airgap.dev/airgap/internal/hostrange"
)

const (
	maxGroups = 1000
	maxLinks  = 100_000 // of hosts and groups with groups
)

// variable is a value with its place.
type variable struct {
	name  string // as in the list
	value string
	line  int
}

// tree is the groups and hosts of an inventory of Ansible.
type tree struct {
	r      *reader
	groups map[string]*group
	hosts  map[string]*entry
	order  []string // hosts
	links  int
}

type group struct {
	line      int
	parents   []string
	variables map[string]variable // by field
	depth     int                 // 0: not known yet
	asked     bool                // depth is being found
}

// priority is ansible_group_priority, which is 1 by default.
func (g *group) priority() int {
	if n, err := strconv.Atoi(g.variables[fieldPriority].value); err == nil {
		return n
	}
	return 1
}

func isInteger(text string) bool {
	_, err := strconv.Atoi(text)
	return err == nil
}

// entry is a host of the list.
type entry struct {
	name      string
	line      int
	groups    []string
	variables map[string]variable // by field
	roles     []string
	rack      string
}

func newTree(r *reader) *tree {
	return &tree{r: r, groups: map[string]*group{}, hosts: map[string]*entry{}}
}

func (t *tree) group(name string, line int) *group {
	t.r.seen[name] = true
	g, is := t.groups[name]
	if !is {
		g = &group{line: line, variables: map[string]variable{}}
		if len(t.groups) < maxGroups {
			t.groups[name] = g
		} else {
			t.r.stop(line, "the list has more than %d groups", maxGroups)
		}
	}
	return g
}

// host adds a host to a group; false means that the list has too many.
func (t *tree) host(in, name string, line int) bool {
	t.group(in, line)
	h, is := t.hosts[name]
	if !is {
		if len(t.hosts) == hostrange.Max {
			t.r.stop(line, "the list has more than %d hosts", hostrange.Max)
			return false
		}
		h = &entry{name: name, line: line, variables: map[string]variable{}}
		t.hosts[name], t.order = h, append(t.order, name)
	}
	if !slices.Contains(h.groups, in) {
		h.groups = append(h.groups, in)
	}
	return t.link(line)
}

func (t *tree) child(parent, name string, line int) {
	t.group(parent, line)
	child := t.group(name, line)
	if t.link(line) && !slices.Contains(child.parents, parent) {
		child.parents = append(child.parents, parent)
	}
}

func (t *tree) link(line int) bool {
	t.links++
	if t.links == maxLinks {
		t.r.stop(line, "the groups of the list have more than %d hosts and groups together", maxLinks)
	}
	return t.links < maxLinks
}

func (t *tree) groupVariable(in, field string, v variable) {
	t.set(t.group(in, v.line).variables, field, v, "group "+in)
}

func (t *tree) hostVariable(name, field string, v variable) {
	if h := t.hosts[name]; h != nil {
		t.set(h.variables, field, v, name)
	}
}

// set refuses a second value: it is seldom meant, and not clear which one is.
func (t *tree) set(variables map[string]variable, field string, v variable, of string) {
	if first, is := variables[field]; is && first.value != v.value {
		t.r.fault(v.line, v.name, "%s has another value for it in line %d: want one", of, first.line)
		return
	}
	variables[field] = v
}

// depthOf is the longest way from all to the group. Variables of a deeper group are stronger.
func (t *tree) depthOf(name string) (int, error) {
	g := t.groups[name]
	switch {
	case g == nil || name == "all":
		return 0, nil
	case g.depth > 0:
		return g.depth, nil
	case g.asked:
		return 0, fmt.Errorf("the group %s is a child of itself", name)
	}
	g.asked = true
	depth := 1
	for _, p := range g.parents {
		above, err := t.depthOf(p)
		if err != nil {
			return 0, err
		}
		depth = max(depth, above+1)
	}
	g.depth, g.asked = depth, false
	return depth, nil
}

// above returns the groups with all their parents.
func (t *tree) above(names []string) map[string]bool {
	all := map[string]bool{}
	for rest := slices.Clone(names); len(rest) > 0; {
		name := rest[len(rest)-1]
		rest = rest[:len(rest)-1]
		if all[name] || t.groups[name] == nil {
			continue
		}
		all[name] = true
		rest = append(rest, t.groups[name].parents...)
	}
	return all
}
