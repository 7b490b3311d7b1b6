package chart

import (
	"regexp"
	"strings"
	"text/template/parse"
)

// reader finds the values that a template reads, also through the named templates that it
// includes: .Values.a.b, index .Values "a" "b", .b within a block of with .Values.a, and
// $x.b after $x := .Values.a. It parses the text and executes nothing. A wrong path only
// causes an unnecessary rendering.
type reader struct {
	defines map[string]*parse.Tree
	seen    map[string]bool // named templates with the path of their dot
	paths   map[string]bool // "auth.password"
	texts   map[string]bool // constants that could be the path of a value
	vars    map[string]string
}

// unknown is the path of a dot or a variable that is not a value of the chart. The path of
// .Values is "", of values below it "a.b".
const unknown = "\x00"

// anyKey is a placeholder in a path for a key that is known only at execution.
const anyKey = "*"

// maxReads limits the number of named templates.
const maxReads = 2000

func (r *reader) named(name, dot string) {
	key := name + "\x00" + dot
	if r.seen[key] || len(r.seen) > maxReads {
		return
	}
	r.seen[key] = true
	tree := r.defines[name]
	if tree == nil || tree.Root == nil {
		return
	}
	if r.paths == nil {
		r.paths, r.texts = map[string]bool{}, map[string]bool{}
	}
	outer := r.vars
	r.vars = map[string]string{}
	r.node(tree.Root, dot)
	r.vars = outer
}

func (r *reader) node(n parse.Node, dot string) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n == nil {
			return
		}
		for _, child := range n.Nodes {
			r.node(child, dot)
		}
	case *parse.ActionNode:
		r.pipe(n.Pipe, dot)
	case *parse.TemplateNode:
		r.named(n.Name, r.pipe(n.Pipe, dot))
	case *parse.IfNode:
		r.branch(&n.BranchNode, dot, false)
	case *parse.WithNode:
		r.branch(&n.BranchNode, dot, true)
	case *parse.RangeNode:
		r.each(&n.BranchNode, dot)
	}
}

func (r *reader) branch(n *parse.BranchNode, dot string, with bool) {
	value, inner := r.pipe(n.Pipe, dot), dot
	if with {
		inner = value
	}
	r.node(n.List, inner)
	r.node(n.ElseList, dot)
}

// each follows a range: the dot and the last variable are any value below the mapping.
func (r *reader) each(n *parse.BranchNode, dot string) {
	value := r.pipe(n.Pipe, dot)
	if value != unknown {
		value = strings.TrimPrefix(value+"."+anyKey, ".")
	}
	if v := n.Pipe.Decl; len(v) > 0 && len(v[len(v)-1].Ident) > 0 {
		r.vars[v[len(v)-1].Ident[0]] = value
	}
	r.node(n.List, value)
	r.node(n.ElseList, dot)
}

// pipe records the values that a pipeline reads, and returns the path of its result, or unknown.
func (r *reader) pipe(p *parse.PipeNode, dot string) string {
	if p == nil {
		return unknown
	}
	result := unknown
	for i, c := range p.Cmds {
		var piped []string
		if i > 0 {
			piped = []string{result}
		}
		result = r.command(c, dot, piped)
	}
	for _, v := range p.Decl {
		if len(v.Ident) > 0 {
			r.vars[v.Ident[0]] = result
		}
	}
	return result
}

// command returns the path of the result of a command; piped is the result of the one before it.
func (r *reader) command(c *parse.CommandNode, dot string, piped []string) string {
	if len(c.Args) == 0 {
		return unknown
	}
	var paths []string
	for _, arg := range c.Args {
		paths = append(paths, r.argument(arg, dot))
	}
	name, is := c.Args[0].(*parse.IdentifierNode)
	if !is {
		return paths[0]
	}
	paths = append(paths, piped...)
	last := paths[len(paths)-1]
	switch name.Ident {
	case "include":
		if text, is := constant(c.Args, 1); is {
			r.named(text, last)
		}
	case "index", "get": // index .Values "a" "b"
		if len(c.Args) > 2 {
			return r.deeper(paths[1], c.Args[2:])
		}
	case "dig": // dig "a" "b" "" .Values.c
		if n := len(paths) - 2; n > 1 {
			return r.deeper(last, c.Args[1:n])
		}
	case "default", "coalesce", "required": // default "" .Values.a
		return last
	}
	return unknown
}

// argument records an argument and returns its path.
func (r *reader) argument(n parse.Node, dot string) string {
	switch n := n.(type) {
	case *parse.DotNode:
		return dot
	case *parse.FieldNode:
		return r.note(dot, n.Ident)
	case *parse.VariableNode:
		from, known := r.vars[n.Ident[0]]
		if n.Ident[0] == "$" || !known {
			from = unknown
		}
		return r.note(from, n.Ident[1:])
	case *parse.ChainNode:
		return r.note(r.argument(n.Node, dot), n.Field)
	case *parse.PipeNode:
		return r.pipe(n, dot)
	case *parse.StringNode:
		if len(n.Text) < 200 && pathLike.MatchString(n.Text) {
			r.texts[n.Text] = true
		}
	}
	return unknown
}

var pathLike = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*$`)

// note records the path of fields below from. After a field Values a new path starts, because
// helpers get the scope as .context and similar fields.
func (r *reader) note(from string, fields []string) string {
	for i, field := range fields {
		if field == "Values" {
			return r.keep(strings.Join(fields[i+1:], "."))
		}
	}
	switch {
	case len(fields) == 0:
		return from
	case from == unknown:
		return unknown
	}
	return r.keep(strings.TrimPrefix(from+"."+strings.Join(fields, "."), "."))
}

func (r *reader) keep(path string) string {
	if path != "" {
		r.paths[path] = true
	}
	return path
}

// deeper records the path of constant keys below from, with anyKey for other keys.
func (r *reader) deeper(from string, args []parse.Node) string {
	if from == unknown {
		return unknown
	}
	for i := range args {
		key, is := constant(args, i)
		if !is {
			key = anyKey
		}
		from = strings.TrimPrefix(from+"."+key, ".")
	}
	return r.keep(from)
}

func constant(args []parse.Node, i int) (string, bool) {
	if i >= len(args) {
		return "", false
	}
	text, is := args[i].(*parse.StringNode)
	if !is {
		return "", false
	}
	return text.Text, true
}
