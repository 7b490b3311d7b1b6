package config

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// AddNodes adds nodes to the text of an airgap.yaml and leaves the rest as it is, comments too. It
// does not add nodes that the file has with the same fields; a node with other fields is a problem,
// as is everything that is wrong in the file afterwards.
func AddNodes(file string, data []byte, nodes []Node) (text []byte, added []Node, err error) {
	doc, err := parse(file, data)
	if err != nil {
		return nil, nil, err
	}
	var c Cluster
	if decode := doc.root.Decode(&c); decode != nil {
		if _, err := Parse(file, data); err != nil {
			return nil, nil, err // with the field
		}
		return nil, nil, syntax(file, decode)
	}
	c.expand()
	added, problems := doc.missing(&c, nodes)
	if len(problems) > 0 {
		return nil, nil, problems.sorted()
	}
	if len(added) == 0 {
		return data, nil, nil
	}
	before, after, indentation, problems := doc.placeForNodes(data)
	if len(problems) > 0 {
		return nil, nil, problems
	}
	items, err := (&NodeList{Nodes: added}).yaml(indentation)
	if err != nil {
		return nil, nil, err
	}
	text = slices.Concat(before, items, after)
	now, err := Parse(file+" with these nodes", text)
	if err != nil {
		return nil, nil, err
	}
	want := c.Nodes
	for _, n := range added {
		want = append(want, c.withDefaults(n))
	}
	if !reflect.DeepEqual(now.Nodes, want) {
		return nil, nil, Problems{doc.problem(doc.root, "nodes", "the nodes cannot be added to this list: write each of its items in a line of its own, or add the nodes by hand")}
	}
	return text, added, nil
}

// missing returns the nodes that the file does not have. A node of the same name or address with
// other fields is a problem.
func (d document) missing(c *Cluster, nodes []Node) (added []Node, problems Problems) {
	names, addresses := map[string]int{}, map[string]int{}
	for i, n := range c.Nodes {
		names[n.Name], addresses[n.Address] = i, i
	}
	for _, n := range nodes {
		i, is := names[n.Name]
		if !is {
			i, is = addresses[n.Address]
		}
		switch {
		case !is:
			added = append(added, n)
		case !reflect.DeepEqual(c.Nodes[i], c.withDefaults(n)):
			at := []string{"nodes", fmt.Sprint(c.origins[i].item)}
			problems = append(problems, d.problem(d.at(at, false), join(at), "%s is here as %s, and in the list as %s: correct one of them", n.Name, c.Nodes[i].short(), n.short()))
		}
	}
	return added, problems
}

// withDefaults is a node with the defaults of the file, as the file would have it.
func (c *Cluster) withDefaults(n Node) Node {
	n.inherit(c.NodeDefaults, &origin{}, field.NewPath("nodeDefaults"))
	return n
}

// short is the node in a line, without secrets: nodes have none.
func (n Node) short() string {
	text, err := (&NodeList{Nodes: []Node{n}}).yaml("")
	if err != nil {
		return n.Name
	}
	return strings.TrimSpace(strings.TrimPrefix(string(text), "- "))
}

// placeForNodes splits the text where an item of nodes can be added.
func (d document) placeForNodes(data []byte) (before, after []byte, indentation string, problems Problems) {
	lines := bytes.SplitAfter(data, []byte("\n"))
	key, list := child(d.root, "nodes")
	switch {
	case list == nil:
		return append(ended(data), "nodes:\n"...), nil, "  ", nil
	case list.Tag == "!!null":
		return ended(bytes.Join(lines[:key.Line], nil)), bytes.Join(lines[key.Line:], nil), "  ", nil
	case list.Kind != yaml.SequenceNode || list.Style&yaml.FlowStyle != 0 || d.root.Style&yaml.FlowStyle != 0:
		return nil, nil, "", Problems{d.problem(list, "nodes", "want a list with a line such as \"  - name: cp1\" for each node, to which nodes can be added")}
	}
	end := len(lines)
	for _, other := range d.root.Content {
		if other.Line > list.Line && other.Line <= end && other.Column == d.root.Column && !slices.Contains(list.Content, other) {
			end = other.Line - 1
		}
	}
	for end > list.Line && isNoItem(lines[end-1]) {
		end--
	}
	return ended(bytes.Join(lines[:end], nil)), bytes.Join(lines[end:], nil), strings.Repeat(" ", list.Column-1), nil
}

// isNoItem reports a line that is empty or a comment.
func isNoItem(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) == 0 || line[0] == '#'
}

// ended ends the text with a newline.
func ended(text []byte) []byte {
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		return append(slices.Clip(text), '\n')
	}
	return slices.Clip(text)
}
