package config

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"airgap.dev/airgap/internal/ui"
)

// NodeList is the nodes of airgap.yaml, one for each server.
type NodeList struct {
	Nodes    []Node   `json:"nodes"`
	Warnings []string `json:"warnings,omitempty"` // absent nodes whose date is past
}

// Show returns the nodes of the file at path, after ranges, groups and defaults.
func Show(path string) (*NodeList, error) {
	c, _, err := Load(path)
	if err != nil {
		return nil, Advise(err)
	}
	l := &NodeList{Nodes: slices.Clone(c.Nodes), Warnings: c.AbsentWarnings(time.Now())}
	for i := range l.Nodes {
		l.Nodes[i].Group = "" // its fields are filled in
	}
	return l, nil
}

// Write writes the section nodes as airgap.yaml has it, a line for each node.
func (l *NodeList) Write(w io.Writer) error {
	text, err := l.yaml("  ")
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "# %s\n", l.summary())
	for _, warning := range l.Warnings {
		fmt.Fprintf(w, "# warning: %s\n", warning)
	}
	_, err = fmt.Fprintf(w, "nodes:\n%s", text)
	return err
}

// summary counts the nodes: 12 nodes: 3 control-plane, 9 worker, 2 gpu; 3 racks.
func (l *NodeList) summary() string {
	racks, roles := map[string]bool{}, []string{}
	for _, r := range []Role{ControlPlane, Worker, GPU} {
		count := 0
		for _, n := range l.Nodes {
			if n.Has(r) {
				count++
			}
		}
		if count > 0 {
			roles = append(roles, fmt.Sprintf("%d %s", count, r))
		}
	}
	for _, n := range l.Nodes {
		if n.Rack != "" {
			racks[n.Rack] = true
		}
	}
	text := ui.Count(len(l.Nodes), "node") + ": " + strings.Join(roles, ", ")
	absent := 0
	for _, n := range l.Nodes {
		if n.Absent != nil {
			absent++
		}
	}
	if absent > 0 {
		text += fmt.Sprintf(", %d absent", absent)
	}
	if len(racks) > 0 {
		text += "; " + ui.Count(len(racks), "rack")
	}
	return text
}

// yaml is the items of the list, each in a line behind the indentation.
func (l *NodeList) yaml(indentation string) ([]byte, error) {
	var all bytes.Buffer
	for _, n := range l.Nodes {
		var item yaml.Node
		if err := item.Encode(n); err != nil {
			return nil, fmt.Errorf("write node %s: %w", n.Name, err)
		}
		line, err := yaml.Marshal(oneLine(&item))
		if err != nil {
			return nil, fmt.Errorf("write node %s: %w", n.Name, err)
		}
		fmt.Fprintf(&all, "%s- %s", indentation, line)
	}
	return all.Bytes(), nil
}

// oneLine leaves out the fields of a mapping without a value, and puts the rest in one line.
func oneLine(n *yaml.Node) *yaml.Node {
	n.Style = yaml.FlowStyle
	if n.Kind != yaml.MappingNode {
		return n
	}
	var kept []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		empty := value.Tag == "!!null" || value.Kind == yaml.ScalarNode && (value.Value == "" || value.Value == "0" && value.Tag == "!!int")
		if value.Kind == yaml.MappingNode {
			empty = len(oneLine(value).Content) == 0
		}
		if value.Kind == yaml.SequenceNode {
			value.Style, empty = yaml.FlowStyle, len(value.Content) == 0
		}
		if !empty {
			kept = append(kept, key, value)
		}
	}
	n.Content = kept
	return n
}
