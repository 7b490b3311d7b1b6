package airgap_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/internal/enterprise"
)

// goFile is a Go file of the program: no test, nothing that helps tests, nothing of the lab.
type goFile struct {
	dir, path string
	parsed    *ast.File
	positions *token.FileSet
}

func (s goFile) at(n ast.Node) string { return s.positions.Position(n.Pos()).String() }

func goFiles(t *testing.T) []goFile {
	t.Helper()
	var all []goFile
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "e2e" || path != "." && (strings.HasPrefix(d.Name(), ".") || strings.HasSuffix(d.Name(), "test"))):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		positions := token.NewFileSet()
		parsed, err := parser.ParseFile(positions, path, nil, 0)
		all = append(all, goFile{filepath.Dir(path), path, parsed, positions})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestReleasesAreOneTable: what depends on the release of Enterprise Linux is a column of
// internal/enterprise, and nobody else names one.
func TestReleasesAreOneTable(t *testing.T) {
	for _, s := range goFiles(t) {
		if s.dir == "internal/enterprise" {
			continue
		}
		ast.Inspect(s.parsed, func(n ast.Node) bool {
			text, is := n.(*ast.BasicLit)
			if !is || text.Kind != token.STRING {
				return true
			}
			if name, err := strconv.Unquote(text.Value); err == nil && slices.Contains(enterprise.Names(), name) {
				t.Errorf("%s: %s: make it a column of internal/enterprise", s.at(n), name)
			}
			return true
		})
	}
}

// TestPackageNamesAreOnePackage: a package of RPMs is named by internal/nevra, and only text that
// comes from outside, of rpm, dnf and metadata, is parsed.
func TestPackageNamesAreOnePackage(t *testing.T) {
	form := regexp.MustCompile(`%[sq]-(%d:)?%[sqv]-%[sqv]`)
	for _, s := range goFiles(t) {
		if s.dir == "internal/nevra" {
			continue
		}
		for _, i := range s.parsed.Imports {
			if i.Path.Value == `"github.com/knqyf263/go-rpm-version"` {
				t.Errorf("%s: compare versions by internal/nevra", s.at(i))
			}
		}
		ast.Inspect(s.parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if n.Kind == token.STRING && form.MatchString(n.Value) {
					t.Errorf("%s: %s: write the name of a package by internal/nevra", s.at(n), n.Value)
				}
			case *ast.SelectorExpr:
				if of, is := n.X.(*ast.Ident); is && of.Name == "nevra" && strings.HasPrefix(n.Sel.Name, "Parse") && s.dir != "bundle/rpm" {
					t.Errorf("%s: nevra.%s: this text was a value before: pass that on", s.at(n), n.Sel.Name)
				}
			}
			return true
		})
	}
}

// TestPluginsStateTheirNeeds: whoever judges a host or sets it up asks cni.NeedsOf, and knows no
// plugin by its name.
func TestPluginsStateTheirNeeds(t *testing.T) {
	named := []string{cni.Flannel, cni.Calico, cni.Cilium}
	for _, s := range goFiles(t) {
		if s.dir != "preflight" && s.dir != "kubeadm" && !strings.HasPrefix(s.dir, "cluster/") {
			continue
		}
		ast.Inspect(s.parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil && slices.Contains(named, text) {
					t.Errorf("%s: %s: make it a field of cni.Needs", s.at(n), n.Value)
				}
			case *ast.SelectorExpr:
				if of, is := n.X.(*ast.Ident); is && of.Name == "cni" && slices.Contains([]string{"Flannel", "Calico", "Cilium"}, n.Sel.Name) {
					t.Errorf("%s: cni.%s: make it a field of cni.Needs", s.at(n), n.Sel.Name)
				}
			}
			return true
		})
	}
}

// TestReferencesAreParsedOnce: image references are taken apart by internal/reference alone.
func TestReferencesAreParsedOnce(t *testing.T) {
	parsers := []string{"ParseReference", "NewTag", "NewDigest", "MustParseReference"}
	cutters := regexp.MustCompile(`^(Cut|Index|LastIndex|Split)`)
	for _, s := range goFiles(t) {
		if s.dir == "internal/reference" {
			continue
		}
		for _, i := range s.parsed.Imports {
			if i.Path.Value == `"github.com/distribution/reference"` {
				t.Errorf("%s: ask internal/reference", s.at(i))
			}
		}
		ast.Inspect(s.parsed, func(n ast.Node) bool {
			call, is := n.(*ast.CallExpr)
			if !is {
				return true
			}
			f, is := call.Fun.(*ast.SelectorExpr)
			if !is {
				return true
			}
			of, _ := f.X.(*ast.Ident)
			switch {
			case of == nil:
			case of.Name == "name" && slices.Contains(parsers, f.Sel.Name):
				t.Errorf("%s: name.%s: ask internal/reference", s.at(n), f.Sel.Name)
			case of.Name == "strings" && cutters.MatchString(f.Sel.Name) && len(call.Args) > 1 && isSeparator(call.Args[1]) && isImage(call.Args[0]):
				t.Errorf("%s: strings.%s takes a reference apart: ask internal/reference", s.at(n), f.Sel.Name)
			}
			return true
		})
	}
}

func isSeparator(e ast.Expr) bool {
	text, is := e.(*ast.BasicLit)
	return is && slices.Contains([]string{`"@"`, `":"`, `"/"`, "'@'", "':'", "'/'"}, text.Value)
}

// isImage reports whether an expression names an image: image, i.Image, s.ImageID.
func isImage(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		id, is := n.(*ast.Ident)
		found = found || is && strings.Contains(strings.ToLower(id.Name), "image")
		return true
	})
	return found
}

// TestServersAskTheLock: what a server needs of the images is asked of the lock, which decided it;
// only the connected side has lists by versions.
func TestServersAskTheLock(t *testing.T) {
	lists := map[string][]string{"release": {"Images"}, "cni": {"Images"}}
	for _, s := range goFiles(t) {
		if !strings.HasPrefix(s.dir, "cluster/") && s.dir != "registry" && s.dir != "cmd/airgap" && s.dir != "verify" {
			continue
		}
		ast.Inspect(s.parsed, func(n ast.Node) bool {
			f, is := n.(*ast.SelectorExpr)
			if !is {
				return true
			}
			of, _ := f.X.(*ast.Ident)
			switch {
			case of != nil && slices.Contains(lists[of.Name], f.Sel.Name):
				t.Errorf("%s: %s.%s: ask Lock.ImagesFor", s.at(n), of.Name, f.Sel.Name)
			case f.Sel.Name == "Image" && isField(f.X, "GPU"):
				t.Errorf("%s: the device plugin's image: ask Lock.ImagesFor", s.at(n))
			}
			return true
		})
	}
}

func isField(e ast.Expr, name string) bool {
	f, is := e.(*ast.SelectorExpr)
	return is && f.Sel.Name == name
}
