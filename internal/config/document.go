package config

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"airgap.dev/airgap/internal/yamlfault"
)

// document is a parsed YAML file that remembers where everything stands.
type document struct {
	file string
	root *yaml.Node
}

// parse reads exactly one YAML document with a mapping at its top.
func parse(file string, data []byte) (document, error) {
	dec := yaml.NewDecoder(strings.NewReader(string(data)))
	var doc, more yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return document{}, Problems{{File: file, Line: 1, Column: 1, Message: "the file is empty; `airgap bundle --help` shows the smallest one"}}
	} else if err != nil {
		return document{}, faulty(file, data, err)
	}
	d := document{file, doc.Content[0]}
	if d.root.Kind != yaml.MappingNode {
		return document{}, Problems{d.problem(d.root, "", "want a mapping (key: value) at the top")}
	}
	if err := dec.Decode(&more); err == nil {
		return document{}, Problems{d.problem(&more, "", "a second YAML document; want exactly one")}
	} else if !errors.Is(err, io.EOF) {
		return document{}, faulty(file, data, err)
	}
	return d, nil
}

var yamlLine = regexp.MustCompile(`line (\d+): `)

// faulty turns a syntax error into a problem at the line of the mistake.
func faulty(file string, data []byte, err error) Problems {
	if f := yamlfault.Find(data); f != nil {
		return Problems{{File: file, Line: f.Line, Column: 1, Message: f.Message}}
	}
	return syntax(file, err)
}

// syntax turns yaml.v3's message, which knows the line only, into a problem.
func syntax(file string, err error) Problems {
	text, line := strings.TrimPrefix(err.Error(), "yaml: "), 1
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = strings.Replace(text, m[0], "", 1)
	}
	return Problems{{File: file, Line: line, Column: 1, Message: text}}
}

func (d document) problem(n *yaml.Node, path, format string, args ...any) Problem {
	return Problem{File: d.file, Line: n.Line, Column: n.Column, Path: path, Message: fmt.Sprintf(format, args...)}
}

// at finds the node at keys, or its nearest existing ancestor; key selects the key
// of a mapping instead of its value.
func (d document) at(keys []string, key bool) *yaml.Node {
	n := d.root
	for i, k := range keys {
		name, value := child(n, k)
		if value == nil {
			return n
		}
		if key && i == len(keys)-1 && name != nil {
			return name
		}
		n = value
	}
	return n
}

// has reports whether the file has something at keys.
func (d document) has(keys []string) bool {
	n := d.root
	for _, k := range keys {
		if _, n = child(n, k); n == nil {
			return false
		}
	}
	return true
}

// child is the value under key (a name, or an index in decimal) and, in a
// mapping, the node of the key itself.
func child(n *yaml.Node, key string) (name, value *yaml.Node) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				return n.Content[i], n.Content[i+1]
			}
		}
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(n.Content) {
			return nil, n.Content[i]
		}
	}
	return nil, nil
}

// duplicates are the keys that a mapping has twice. They are taken out of the
// document, so that the rest of it can be judged.
func (d document) duplicates() Problems {
	found := d.prune(d.root, nil)
	walk(d.root, nil, func(_, value *yaml.Node, path []string) {
		found = append(found, d.prune(value, path)...)
	})
	return found
}

func (d document) prune(n *yaml.Node, path []string) Problems {
	var found Problems
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); {
		key := n.Content[i]
		first, _ := child(n, key.Value)
		if first == key {
			i += 2
			continue
		}
		found = append(found, d.problem(key, join(append(slices.Clone(path), key.Value)), "written twice, first in line %d", first.Line))
		n.Content = slices.Delete(n.Content, i, i+2)
	}
	return found
}

// walk calls visit for every key and value below n with its path.
func walk(n *yaml.Node, path []string, visit func(key, value *yaml.Node, path []string)) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			p := append(slices.Clip(path), n.Content[i].Value)
			visit(n.Content[i], n.Content[i+1], p)
			walk(n.Content[i+1], p, visit)
		}
	case yaml.SequenceNode:
		for i, c := range n.Content {
			p := append(slices.Clip(path), strconv.Itoa(i))
			visit(nil, c, p)
			walk(c, p, visit)
		}
	}
}

// join writes a path as people do: nodes[0].address.
func join(keys []string) string {
	var b strings.Builder
	for _, k := range keys {
		if isIndex(k) {
			fmt.Fprintf(&b, "[%s]", k)
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(k)
	}
	return b.String()
}

func isIndex(key string) bool {
	_, err := strconv.Atoi(key)
	return err == nil
}

// split is the inverse of join for the paths that field.Path prints.
func split(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
}
