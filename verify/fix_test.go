package verify

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"strings"
	"testing"
)

// TestEveryFindingHasAFix parses the source of this package: each Finding literal with Saw has a Fix.
// A literal that gets Saw or Fix later has neither.
func TestEveryFindingHasAFix(t *testing.T) {
	names, err := fs.Glob(os.DirFS("."), "*.go")
	if err != nil {
		t.Fatal(err)
	}
	files, findings := token.NewFileSet(), 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			var all []ast.Expr
			switch l := n.(type) {
			case *ast.CompositeLit:
				if kind, is := l.Type.(*ast.ArrayType); is && named(kind.Elt, "Finding") {
					all = l.Elts
				} else if named(l.Type, "Finding") {
					all = []ast.Expr{l}
				}
			}
			for _, e := range all {
				l, is := e.(*ast.CompositeLit)
				if !is {
					continue
				}
				if findings++; field(l, "Saw") != nil && empty(field(l, "Fix")) {
					t.Errorf("%s: a finding has Saw without Fix", files.Position(l.Pos()))
				}
			}
			return true
		})
	}
	if findings < 40 {
		t.Errorf("found only %d findings in the source", findings)
	}
}

func named(e ast.Expr, name string) bool {
	id, is := e.(*ast.Ident)
	return is && id.Name == name
}

func field(l *ast.CompositeLit, name string) ast.Expr {
	for _, e := range l.Elts {
		if pair, is := e.(*ast.KeyValueExpr); is && named(pair.Key, name) {
			return pair.Value
		}
	}
	return nil
}

func empty(e ast.Expr) bool {
	text, is := e.(*ast.BasicLit)
	return e == nil || is && text.Value == `""`
}
