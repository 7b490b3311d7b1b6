package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host"
)

// TestPackagedProgramsFirst: a program of another origin that comes first in the user's PATH
// starts neither directly nor as the child of a command, as kubeadm does below flock.
func TestPackagedProgramsFirst(t *testing.T) {
	foreign := t.TempDir()
	for _, name := range []string{"uname", "only-here"} {
		if err := os.WriteFile(filepath.Join(foreign, name), []byte("#!/bin/sh\necho foreign\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, own := range []string{foreign + ":" + os.Getenv("PATH"), foreign} {
		t.Setenv("PATH", own)
		usePackagedPrograms()
		for _, command := range []host.Cmd{{Name: "uname"}, {Name: "env", Args: []string{"uname"}}, {Name: "sh", Args: []string{"-c", "uname"}}} {
			out, err := host.Local{}.Run(t.Context(), command)
			if err != nil || strings.Contains(string(out), "foreign") {
				t.Errorf("PATH %s: %+v: %q, %v", own, command, out, err)
			}
		}
		if out, err := (host.Local{}).Run(t.Context(), host.Cmd{Name: "only-here"}); err != nil || string(out) != "foreign\n" {
			t.Errorf("a program that no package has: %q, %v", out, err)
		}
	}
	t.Setenv("PATH", "")
	usePackagedPrograms()
	if got := os.Getenv("PATH"); got != packagedPrograms {
		t.Errorf("without a PATH: %q", got)
	}
}

// TestMainUsesPackagedPrograms: main sets PATH before it runs anything.
func TestMainUsesPackagedPrograms(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "main.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var calls []string
	for _, d := range file.Decls {
		f, is := d.(*ast.FuncDecl)
		if !is || f.Name.Name != "main" {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if call, is := n.(*ast.CallExpr); is {
				if name, is := call.Fun.(*ast.Ident); is {
					calls = append(calls, name.Name)
				}
			}
			return true
		})
	}
	if len(calls) < 2 || calls[0] != "usePackagedPrograms" {
		t.Errorf("main calls %q", calls)
	}
}
