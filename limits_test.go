package airgap_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestLimits keeps packages, types, files and functions at a size that can be read.
func TestLimits(t *testing.T) {
	code := measure(t)
	for _, test := range []struct {
		of       string
		measured map[string]int
		most     int
	}{
		{"lines of a package", others(code.packages), 7500},
		{"lines of the command", map[string]int{"cmd/airgap": code.packages["cmd/airgap"]}, 6000},
		{"methods of a type", code.methods, 40},
		{"lines of a file", code.files, 400},
		{"lines of a function", code.functions, 80},
		{"lines of a function in cmd/airgap", code.commands, 40},
		{"lines of a test file", code.testFiles, 400},
		{"lines of a test function", code.tests, 120},
		{"lines of more than 200 columns in a test file", code.wide, 0},
		{"files of cmd/airgap that import os/exec", code.executing, 0},
	} {
		for _, name := range slices.Sorted(maps.Keys(test.measured)) {
			if is := test.measured[name]; is > test.most {
				t.Errorf("%s: %s: %d, at most %d", test.of, name, is, test.most)
			}
		}
	}
}

// sizes are by name: "kubeadm", "kubeadm.Machine", "kubeadm/join.go", "kubeadm.(Machine).Join".
type sizes struct {
	packages, methods, files, functions, commands, testFiles, tests, wide, executing map[string]int
}

func measure(t *testing.T) sizes {
	t.Helper()
	s := sizes{map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}}
	for _, path := range goFiles(t) {
		if err := s.file(path); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// goFiles are all of the tree, with those of tests and of the lab.
func goFiles(t *testing.T) (all []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "testdata" || d.Name() == "vendor" || path != "." && strings.HasPrefix(d.Name(), ".")) {
			return filepath.SkipDir
		}
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".go") {
			all = append(all, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (s sizes) file(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	positions := token.NewFileSet()
	parsed, err := parser.ParseFile(positions, path, text, 0)
	if err != nil {
		return err
	}
	lines, dir := bytes.Count(text, []byte("\n")), filepath.Dir(path)
	test := strings.HasSuffix(path, "_test.go")
	if test {
		s.testFiles[path], s.wide[path] = lines, wide(text)
	} else {
		s.files[path] = lines
		s.packages[dir] += lines
	}
	if dir == "cmd/airgap" && !test {
		for _, i := range parsed.Imports {
			if i.Path.Value == `"os/exec"` {
				s.executing[path] = 1
			}
		}
	}
	for _, d := range parsed.Decls {
		f, is := d.(*ast.FuncDecl)
		if !is {
			continue
		}
		name := dir + "." + f.Name.Name
		if r := receiver(f); r != "" {
			name = fmt.Sprintf("%s.(%s).%s", dir, r, f.Name.Name)
			if !test {
				s.methods[dir+"."+r]++
			}
		}
		long := positions.Position(f.End()).Line - positions.Position(f.Pos()).Line + 1
		switch {
		case test:
			s.tests[name] = max(s.tests[name], long)
		case dir == "cmd/airgap":
			s.commands[name] = max(s.commands[name], long)
			fallthrough
		default:
			s.functions[name] = max(s.functions[name], long) // one name may have a form for each system
		}
	}
	return nil
}

func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	of := f.Recv.List[0].Type
	if star, is := of.(*ast.StarExpr); is {
		of = star.X
	}
	if generic, is := of.(*ast.IndexExpr); is {
		of = generic.X
	}
	name, _ := of.(*ast.Ident)
	return name.Name
}

func wide(text []byte) int {
	count := 0
	for line := range bytes.Lines(text) {
		if utf8.RuneCount(bytes.TrimRight(line, "\n")) > 200 {
			count++
		}
	}
	return count
}

// others are all packages except the command, which has its own limit.
func others(packages map[string]int) map[string]int {
	rest := maps.Clone(packages)
	delete(rest, "cmd/airgap")
	return rest
}
