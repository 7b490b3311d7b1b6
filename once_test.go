package airgap_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/internal/enterprise"
)

// TestOnce: no package of the program repeats the knowledge of another one. Test helpers and the
// lab may.
func TestOnce(t *testing.T) {
	rules := []func(dir string, n ast.Node) (again, ask string){releaseNamed, packageNamed, pluginNamed, referenceParsed, imagesListed}
	for _, path := range goFiles(t) {
		dir := filepath.ToSlash(filepath.Dir(path))
		if strings.HasSuffix(path, "_test.go") || strings.HasSuffix(dir, "test") || strings.HasPrefix(dir, "e2e") {
			continue
		}
		positions := token.NewFileSet()
		parsed, err := parser.ParseFile(positions, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			for _, rule := range rules {
				if again, ask := rule(dir, n); again != "" {
					t.Errorf("%s: %s: %s", positions.Position(n.Pos()), again, ask)
				}
			}
			return true
		})
	}
}

// TestOnceFinds: each rule finds its violations, and none in the package with the knowledge.
func TestOnceFinds(t *testing.T) {
	for _, tc := range []struct {
		rule              func(dir string, n ast.Node) (again, ask string)
		dir, home, source string
	}{
		{releaseNamed, "preflight", "internal/enterprise", `"el10"`},
		{releaseNamed, "bundle/dnf", "internal/enterprise", `strings.TrimPrefix(t.OS, "el")`},
		{packageNamed, "bundle", "internal/nevra", `fmt.Sprintf("%s-%d:%s-%s.%s", a)`},
		{packageNamed, "cluster/nodesteps", "bundle/rpm", `nevra.Parse(text)`},
		{pluginNamed, "cluster/hostcheck", "cni", `c.Plugin == cni.Cilium`},
		{pluginNamed, "internal/settings", "cni", `w.Plugin == "calico"`},
		{referenceParsed, "registry", "internal/reference", `strings.Cut(s.ImageID, "@")`},
		{referenceParsed, "verify", "internal/reference", `strings.HasSuffix(ref, "@"+digest)`},
		{imagesListed, "cluster/nodesteps", "bundle/plan", `release.Images(version)`},
		{imagesListed, "cluster/nodesteps", "bundle/plan", `c.GPU.Image()`},
	} {
		parsed, err := parser.ParseExpr(tc.source)
		if err != nil {
			t.Fatal(err)
		}
		for dir, want := range map[string]bool{tc.dir: true, tc.home: false} {
			found := false
			ast.Inspect(parsed, func(n ast.Node) bool {
				again, _ := tc.rule(dir, n)
				found = found || again != ""
				return true
			})
			if found != want {
				t.Errorf("%s in %s: found %t", tc.source, dir, found)
			}
		}
	}
}

// releaseNamed: each dependency on a release of Enterprise Linux is a column of one table.
func releaseNamed(dir string, n ast.Node) (again, ask string) {
	if name := textOf(n); dir != "internal/enterprise" && (name == "el" || slices.Contains(enterprise.Names(), name)) {
		return name, "make it a column of internal/enterprise"
	}
	return "", ""
}

var packageForm = regexp.MustCompile(`%[sq]-(%d:)?%[sqv]-%[sqv]`)

// packageNamed: only text that comes from outside, of rpm, dnf and metadata, is parsed.
func packageNamed(dir string, n ast.Node) (again, ask string) {
	of, name := selected(n)
	switch text := textOf(n); {
	case dir == "internal/nevra":
	case packageForm.MatchString(text):
		return text, "write the name of a package by internal/nevra"
	case text == "github.com/knqyf263/go-rpm-version":
		return text, "compare versions by internal/nevra"
	case of == "nevra" && strings.HasPrefix(name, "Parse") && dir != "bundle/rpm" && dir != "bundle/dnf":
		return "nevra." + name, "this text was a value before: pass that on"
	}
	return "", ""
}

// pluginNamed: code that checks a host or sets it up does not name a plugin.
func pluginNamed(dir string, n ast.Node) (again, ask string) {
	within := dir == "preflight" || dir == "internal/settings" || strings.HasPrefix(dir, "kubeadm") || strings.HasPrefix(dir, "cluster/")
	of, name := selected(n)
	if of != "cni" {
		name = textOf(n)
	}
	if within && slices.Contains([]string{cni.Flannel, cni.Calico, cni.Cilium}, strings.ToLower(name)) {
		return name, "make it a field of cni.Needs"
	}
	return "", ""
}

var cutting = regexp.MustCompile(`^(Cut|Index|LastIndex|Split)`)

// referenceParsed: no other package parses image references.
func referenceParsed(dir string, n ast.Node) (again, ask string) {
	if dir == "internal/reference" {
		return "", ""
	}
	if textOf(n) == "github.com/distribution/reference" {
		return textOf(n), "ask internal/reference"
	}
	call, is := n.(*ast.CallExpr)
	if !is {
		return "", ""
	}
	of, name := selected(call.Fun)
	switch {
	case of == "name" && slices.Contains([]string{"ParseReference", "NewTag", "NewDigest", "MustParseReference"}, name):
	case of == "strings" && cutting.MatchString(name) && len(call.Args) > 1 && isSeparator(call.Args[1]) && isImage(call.Args[0]):
	case of == "strings" && strings.HasPrefix(name, "Has") && len(call.Args) > 1 && isJoined(call.Args[1]):
	default:
		return "", ""
	}
	return of + "." + name, "ask internal/reference"
}

func isSeparator(e ast.Expr) bool {
	text, is := e.(*ast.BasicLit)
	return is && slices.Contains([]string{`"@"`, `":"`, `"/"`, "'@'", "':'", "'/'"}, text.Value)
}

// isJoined reports whether an expression is a digest behind its @.
func isJoined(e ast.Expr) bool {
	sum, is := e.(*ast.BinaryExpr)
	return is && textOf(sum.X) == "@"
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

// imagesListed: a server takes its list of images from the lock. Only the connected side has lists
// by version.
func imagesListed(dir string, n ast.Node) (again, ask string) {
	if !strings.HasPrefix(dir, "cluster/") && !slices.Contains([]string{"registry", "cmd/airgap", "verify", "kubeadm", "kubeadm/runtime"}, dir) {
		return "", ""
	}
	of, name := selected(n)
	if f, is := n.(*ast.SelectorExpr); is && of == "" && name == "Image" {
		within, _ := f.X.(*ast.SelectorExpr)
		if within != nil && within.Sel.Name == "GPU" {
			return "the device plugin's image", "ask Lock.ImagesFor"
		}
	}
	if name == "Images" && (of == "release" || of == "cni") {
		return of + ".Images", "ask Lock.ImagesFor"
	}
	return "", ""
}

// textOf is the text of a literal, and of an import; "" for any other node.
func textOf(n ast.Node) string {
	literal, is := n.(*ast.BasicLit)
	if !is || literal.Kind != token.STRING {
		return ""
	}
	text, _ := strconv.Unquote(literal.Value) // the parser has read it
	return text
}

// selected are the two names of a selector, cni and Cilium; of is "" where it is not of a name.
func selected(n ast.Node) (of, name string) {
	f, is := n.(*ast.SelectorExpr)
	if !is {
		return "", ""
	}
	if x, is := f.X.(*ast.Ident); is {
		of = x.Name
	}
	return of, f.Sel.Name
}
