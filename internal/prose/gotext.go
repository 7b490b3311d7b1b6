package prose

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// goFile collects the text of a Go file.
type goFile struct {
	positions *token.FileSet
	test      bool
	passages  []passage
	names     map[*ast.CommentGroup][]string // that a comment documents
	data      map[ast.Node]bool              // literals that are no messages
}

// goText returns comments and messages. A message is a string of at least two words. In a test file
// only the arguments of Errorf and its like are messages.
func goText(file, source string) ([]passage, error) {
	f := &goFile{
		positions: token.NewFileSet(), test: strings.HasSuffix(file, "_test.go"),
		names: map[*ast.CommentGroup][]string{}, data: map[ast.Node]bool{},
	}
	parsed, err := parser.ParseFile(f.positions, file, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	ast.Inspect(parsed, f.visit)
	for _, c := range parsed.Comments {
		f.comment(c)
	}
	return f.passages, nil
}

func (f *goFile) comment(group *ast.CommentGroup) {
	var lines []line
	for _, c := range group.List {
		number := f.positions.Position(c.Pos()).Line
		text, isLine := strings.CutPrefix(c.Text, "//")
		if !isLine {
			text = strings.TrimSuffix(strings.TrimPrefix(text, "/*"), "*/")
			for _, l := range split(text, number) {
				l.text = strings.TrimPrefix(l.text, " ")
				lines = append(lines, l)
			}
			continue
		}
		if text != "" && text[0] != ' ' && text[0] != '\t' { // a directive, perhaps with its reason
			_, text, _ = strings.Cut(text, "//")
		}
		lines = append(lines, line{number, strings.TrimPrefix(text, " ")})
	}
	first, rest, _ := strings.Cut(lines[0].text, " ")
	if slices.Contains(f.names[group], first) {
		lines[0].text = code + " " + rest
	}
	f.passages = append(f.passages, paragraphs(lines, 1)...)
}

func (f *goFile) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncDecl:
		f.names[n.Doc] = []string{n.Name.Name}
	case *ast.GenDecl:
		for _, s := range n.Specs {
			f.names[n.Doc] = append(f.names[n.Doc], named(s)...)
		}
	case *ast.TypeSpec:
		f.names[n.Doc] = append(f.names[n.Doc], named(n)...)
	case *ast.ValueSpec:
		f.names[n.Doc] = append(f.names[n.Doc], named(n)...)
	case *ast.Field:
		for _, name := range n.Names {
			f.names[n.Doc] = append(f.names[n.Doc], name.Name)
			f.names[n.Comment] = append(f.names[n.Comment], name.Name)
		}
		f.isData(n.Tag)
	case *ast.ImportSpec:
		f.isData(n.Path)
	case *ast.KeyValueExpr:
		f.isData(n.Key)
		if key, is := n.Key.(*ast.Ident); is && key.Name == "Example" {
			f.isData(n.Value)
		}
	case *ast.IndexExpr:
		f.isData(n.Index)
	case *ast.CaseClause:
		f.isData(n.List...)
	case *ast.CallExpr:
		f.call(n)
	case *ast.BinaryExpr:
		if n.Op != token.ADD {
			f.isData(n.X, n.Y)
			return true
		}
		f.message(n)
	case *ast.BasicLit:
		f.message(n)
	}
	return true
}

func named(spec ast.Spec) []string {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		return []string{s.Name.Name}
	case *ast.ValueSpec:
		var names []string
		for _, n := range s.Names {
			names = append(names, n.Name)
		}
		return names
	}
	return nil
}

func (f *goFile) isData(all ...ast.Expr) {
	for _, e := range all {
		switch e := e.(type) {
		case *ast.BasicLit:
			if e != nil {
				f.data[e] = true
			}
		case *ast.BinaryExpr:
			f.data[e] = true
			f.isData(e.X, e.Y)
		}
	}
}

// call marks the arguments that are compared or parsed. In a test it reads those of Errorf and its
// like.
func (f *goFile) call(n *ast.CallExpr) {
	of, is := n.Fun.(*ast.SelectorExpr)
	if !is {
		return
	}
	if f.test && slices.Contains([]string{"Error", "Errorf", "Fatal", "Fatalf", "Log", "Logf", "Skip", "Skipf"}, of.Sel.Name) {
		for _, a := range n.Args {
			f.say(a)
		}
		return
	}
	if from, is := of.X.(*ast.Ident); is && slices.Contains([]string{"strings", "bytes", "regexp", "exec"}, from.Name) {
		f.isData(n.Args...)
	}
}

// message takes a literal, or literals that + joins, outside of a test.
func (f *goFile) message(n ast.Expr) {
	if !f.test && !f.data[n] {
		f.say(n)
	}
}

// say adds a string that has at least two words, and marks its parts as read.
func (f *goFile) say(n ast.Expr) {
	words := 0
	all := paragraphs(f.lines(n), 2)
	for _, p := range all {
		tokens, _ := p.tokens()
		for _, t := range tokens {
			if t.word != "" {
				words++
			}
		}
	}
	if words >= 2 {
		f.passages = append(f.passages, all...)
	}
	f.isData(n)
}

// lines returns the text of a string, with one word for each part that is no literal.
func (f *goFile) lines(n ast.Expr) []line {
	switch n := n.(type) {
	case *ast.BasicLit:
		if n.Kind != token.STRING {
			return nil
		}
		text, err := strconv.Unquote(n.Value)
		if err != nil {
			return nil
		}
		lines := split(text, f.positions.Position(n.Pos()).Line)
		for i := range lines {
			if n.Value[0] != '`' {
				lines[i].number = lines[0].number
			}
		}
		return lines
	case *ast.BinaryExpr:
		if n.Op != token.ADD {
			return nil
		}
		left, right := f.lines(n.X), f.lines(n.Y)
		switch {
		case left == nil && right == nil:
			return nil
		case left == nil:
			left = []line{{right[0].number, code}}
		case right == nil:
			right = []line{{left[len(left)-1].number, code}}
		}
		return join(left, right)
	}
	return nil
}

// join continues the last line of the left text with the first one of the right.
func join(left, right []line) []line {
	last := left[len(left)-1]
	if last.number == right[0].number || last.text == "" || right[0].text == "" {
		left[len(left)-1] = line{last.number, last.text + right[0].text}
		if last.text == "" {
			left[len(left)-1].number = right[0].number
		}
		return append(left, right[1:]...)
	}
	return append(left, right...)
}
