package preflight

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"strings"
	"testing"
)

// TestFailuresHaveAFix reads the source of this package: each result has a hint, unless it passes
// or is skipped.
func TestFailuresHaveAFix(t *testing.T) {
	results := 0
	for _, of := range literals(t, "Result") {
		fix, status := "", ""
		for i, e := range of.Elts {
			name := []string{"Status", "Found", "Want", "Fix"}[i]
			if pair, is := e.(*ast.KeyValueExpr); is {
				name, e = pair.Key.(*ast.Ident).Name, pair.Value
			}
			switch name {
			case "Status":
				status = word(e)
			case "Fix":
				fix = word(e)
			}
		}
		if status == "Pass" || status == "Skip" || len(of.Elts) == 0 {
			continue
		}
		if results++; fix == "" || fix == `""` {
			t.Errorf("%s: a result with status %s has no fix", of.at, status)
		}
	}
	if results < 60 {
		t.Errorf("found only %d results in the source", results)
	}
}

type literal struct {
	*ast.CompositeLit

	at token.Position
}

// literals are all composite literals of a type in this package, without tests.
func literals(t *testing.T, of string) []literal {
	t.Helper()
	files := token.NewFileSet()
	names, err := fs.Glob(os.DirFS("."), "*.go")
	if err != nil {
		t.Fatal(err)
	}
	var found []literal
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if l, is := n.(*ast.CompositeLit); is {
				if kind, named := l.Type.(*ast.Ident); named && kind.Name == of {
					found = append(found, literal{l, files.Position(l.Pos())})
				}
			}
			return true
		})
	}
	return found
}

// word is the source of a name or a literal; "…" for any other expression.
func word(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.BasicLit:
		return e.Value
	}
	return "…"
}
