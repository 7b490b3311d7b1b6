package airgap_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// TestNoTLSWithoutVerification: no code, test or lab accepts any certificate. A connection to a server
// without a known CA uses internal/peercert.
func TestNoTLSWithoutVerification(t *testing.T) {
	for _, path := range goFiles(t) {
		positions := token.NewFileSet()
		parsed, err := parser.ParseFile(positions, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range unverified(positions, parsed) {
			t.Errorf("%s: use internal/peercert", found)
		}
	}
}

// TestUnverifiedIsFound: the search finds each way to switch the verification off.
func TestUnverifiedIsFound(t *testing.T) {
	for body, want := range map[string]int{
		"_ = &tls.Config{InsecureSkipVerify: true}":                      1,
		"_ = tls.Config{InsecureSkipVerify: roots == nil}":               1,
		"c.InsecureSkipVerify = true":                                    1,
		"_ = api.Cluster{InsecureSkipTLSVerify: true}":                   1,
		"_ = rest.TLSClientConfig{Insecure: true}":                       1,
		"c := rest.Config{TLSClientConfig: rest.TLSClientConfig{}}":      0,
		"c.TLSClientConfig.Insecure = true":                              1,
		"_ = `cluster: {insecure-skip" + "-tls-verify: true}`":           1,
		"_ = &tls.Config{RootCAs: roots}":                                0,
		"name.ParseReference(ref, name.Insecure)":                        0,
		"grpc.WithTransportCredentials(insecure.NewCredentials())":       0,
		"t.Log(`InsecureSkipVerify`) // InsecureSkipVerify as a comment": 0,
	} {
		positions := token.NewFileSet()
		parsed, err := parser.ParseFile(positions, "p.go", "package p\nfunc f() {\n"+body+"\n}", parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if found := unverified(positions, parsed); len(found) != want {
			t.Errorf("%s: found %q", body, found)
		}
	}
}

// kubeconfigField is in parts, so that the search does not find itself.
const kubeconfigField = "insecure-skip" + "-tls-verify"

// unverified lists the places that set a field that switches the verification of a server off.
func unverified(positions *token.FileSet, file *ast.File) (found []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		var fields []ast.Expr
		switch n := n.(type) {
		case *ast.BasicLit:
			if strings.Contains(textOf(n), kubeconfigField) {
				found = append(found, fmt.Sprintf("%s: %s", positions.Position(n.Pos()), kubeconfigField))
			}
		case *ast.KeyValueExpr:
			fields = []ast.Expr{n.Key}
		case *ast.AssignStmt:
			fields = n.Lhs
		}
		for _, field := range fields {
			_, name := selected(field)
			if key, is := field.(*ast.Ident); is {
				name = key.Name
			}
			switch name {
			case "InsecureSkipVerify", "InsecureSkipTLSVerify", "Insecure":
				found = append(found, fmt.Sprintf("%s: %s", positions.Position(field.Pos()), name))
			}
		}
		return true
	})
	return found
}
