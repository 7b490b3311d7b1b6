package inventory

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"gopkg.in/yaml.v3"

	"airgap.dev/airgap/internal/hostrange"
	"airgap.dev/airgap/internal/yamlfault"
)

// maxDepth is more than the depth of groups in groups.
const maxDepth = 50

// yaml reads an inventory in the YAML form of Ansible.
func (r *reader) yaml(data []byte) *tree {
	var doc yaml.Node
	documents := yaml.NewDecoder(bytes.NewReader(data))
	if err := documents.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		if f := yamlfault.Find(data); f != nil {
			r.fault(f.Line, "", "%s", f.Message)
		} else {
			r.fault(1, "", "the text is not YAML: want an inventory of Ansible in YAML")
		}
		return nil
	}
	if len(doc.Content) == 0 {
		return nil
	}
	if second := (yaml.Node{}); !errors.Is(documents.Decode(&second), io.EOF) {
		r.fault(max(second.Line, 1), "", "a second document begins here: want one document, without a line ---")
		return nil
	}
	t := newTree(r)
	r.pairs(doc.Content[0], "groups, such as all:", func(key, value *yaml.Node) {
		if key.Value == "_meta" {
			r.fault(key.Line, "", "the JSON form of an inventory is not supported: want its YAML form, from ansible-inventory -i FILE --list --yaml")
			return
		}
		r.yamlGroup(t, key, value, 1)
	})
	return t
}

// pairs calls visit for each key and value of a mapping. null is an empty one.
func (r *reader) pairs(n *yaml.Node, of string, visit func(key, value *yaml.Node)) {
	if n.Tag == "!!null" && n.Kind == yaml.ScalarNode {
		return
	}
	if n.Kind != yaml.MappingNode || n.Tag != "!!map" {
		r.fault(n.Line, "", "want a mapping (key: value) with %s", of)
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if r.stopped {
			return
		}
		first, twice := seen[key.Value]
		switch {
		case key.Kind != yaml.ScalarNode || key.Tag == "!!merge" || n.Content[i+1].Kind == yaml.AliasNode:
			r.fault(key.Line, "", "anchors and aliases are not read: want the values themselves")
		case twice:
			r.fault(key.Line, "", "the same key is in line %d: want it once", first)
		default:
			seen[key.Value] = key.Line
			visit(key, n.Content[i+1])
		}
	}
}

func (r *reader) yamlGroup(t *tree, name, value *yaml.Node, depth int) {
	if !shape.MatchString(name.Value) || depth > maxDepth {
		r.fault(name.Line, "", "want the name of a group with letters, digits and _, in at most %d groups", maxDepth)
		return
	}
	t.group(name.Value, name.Line)
	r.pairs(value, "hosts, vars and children of the group", func(key, value *yaml.Node) {
		switch key.Value {
		case "hosts":
			r.pairs(value, "hosts, such as node1:", func(host, variables *yaml.Node) { r.yamlHost(t, name.Value, host, variables) })
		case "vars":
			r.yamlVariables(value, func(field string, v variable) { t.groupVariable(name.Value, field, v) })
		case "children":
			r.pairs(value, "groups", func(child, below *yaml.Node) {
				r.yamlGroup(t, child, below, depth+1)
				if shape.MatchString(child.Value) {
					t.child(name.Value, child.Value, child.Line)
				}
			})
		default:
			r.fault(key.Line, "", "unknown key in the group %s: want hosts, vars or children", name.Value)
		}
	})
}

func (r *reader) yamlHost(t *tree, group string, host, variables *yaml.Node) {
	if !pattern.MatchString(host.Value) {
		r.fault(host.Line, "", "want the name of a host, or a range such as node[01:50]")
		return
	}
	names, err := hostrange.ExpandAnsible(host.Value)
	if err != nil {
		r.fault(host.Line, "", "%v", err)
		return
	}
	its := map[string]variable{}
	r.yamlVariables(variables, func(field string, v variable) { its[field] = v })
	for _, one := range names {
		if !t.host(group, one, host.Line) {
			return
		}
		for field, v := range its {
			t.hostVariable(one, field, v)
		}
	}
}

func (r *reader) yamlVariables(n *yaml.Node, set func(field string, v variable)) {
	r.pairs(n, "variables", func(key, value *yaml.Node) {
		text := value.Value
		if value.Tag == "!vault" {
			text = "$ANSIBLE_VAULT" // a secret under any name
		}
		field := r.variable("variable", key.Line, key.Value, text, ansibleVariables())
		switch {
		case field == "":
		case value.Kind != yaml.ScalarNode || !strings.HasPrefix(value.Tag, "!!"):
			r.fault(value.Line, key.Value, "want one value")
		case value.Tag != "!!null":
			set(field, variable{key.Value, value.Value, key.Line})
		}
	})
}
