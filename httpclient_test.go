package airgap_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	netHTTP   = "net/http"
	policy    = module + "/internal/httpclient"
	remotePkg = "github.com/google/go-containerregistry/pkg/v1/remote"
	restPkg   = "k8s.io/client-go/rest"
	clientcmd = "k8s.io/client-go/tools/clientcmd"
)

// readOnly are functions that read a kubeconfig and make no client of it.
var readOnly = []string{"kubeadm/identity.go: readEndpoint", "kubeadm/pki/authority.go: leafOf", "verify/nodereport/configz.go: clientCertificate"}

// TestEveryClientHasThePolicy: all code that sends HTTP goes through internal/httpclient. It
// reads the source: a client that no test uses is found, too.
func TestEveryClientHasThePolicy(t *testing.T) {
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == "e2e" || name == "internal/httpclient" || name == "dist" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && name != "."):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasSuffix(path.Dir(name), "test"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, found := range unguarded(name, file) {
			t.Error(found)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestUnguarded: the search finds unguarded clients.
func TestUnguarded(t *testing.T) {
	const head = "package p\nimport (\n\"net/http\"\nother \"net/http\"\n\"airgap.dev/airgap/internal/httpclient\"\n\"k8s.io/client-go/rest\"\n" +
		"\"github.com/google/go-containerregistry/pkg/v1/remote\"\n)\nfunc f() {\n"
	for body, found := range map[string]bool{
		"_ = &http.Client{}":                                      true,
		"_ = other.Client{}":                                      true,
		"_ = new(http.Client)":                                    true,
		"var c http.Client; c.Do(r)":                              true,
		"http.Get(url)":                                           true,
		"_ = http.DefaultClient":                                  true,
		"_ = http.DefaultTransport":                               true,
		"_ = &http.Transport{}":                                   true,
		"t := new(http.Transport)":                                true,
		"remote.Get(ref)":                                         true,
		"_ = remote.DefaultTransport":                             true,
		"c, _ := rest.InClusterConfig()":                          true,
		"c := rest.Config{}":                                      true,
		"_ = httpclient.New(&http.Transport{})":                   false,
		"_ = httpclient.New(httpclient.Stay(&http.Transport{}))":  false,
		"c, _ := rest.InClusterConfig(); c.Wrap(httpclient.Stay)": false,
		"remote.Get(ref, remote.WithTransport(rt))":               false,
		"var c *http.Client; c.Do(r)":                             false,
		"http.Redirect(w, r, u, 302)":                             false,
		"_ = http.Server{}":                                       false,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "p.go", head+body+"\n}", parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := unguarded("p.go", file); len(got) > 0 != found {
			t.Errorf("%s: found %q", body, got)
		}
	}
}

// source is one file with the paths of its imports.
type source struct {
	name    string
	imports map[string]string
	guarded map[ast.Node]bool // arguments of the policy's functions
	found   []string
}

func unguarded(name string, file *ast.File) []string {
	s := &source{name: name, imports: map[string]string{}, guarded: map[ast.Node]bool{}}
	for _, i := range file.Imports {
		where, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			continue
		}
		as := path.Base(where)
		if i.Name != nil {
			as = i.Name.Name
		}
		s.imports[as] = where
	}
	for _, d := range file.Decls {
		ast.Inspect(d, s.visit)
		if f, is := d.(*ast.FuncDecl); is {
			s.visitFunction(f)
		}
	}
	return s.found
}

func (s *source) report(what string) {
	s.found = append(s.found, fmt.Sprintf("%s: %s has no redirect policy: use internal/httpclient", s.name, what))
}

// of is PACKAGE and NAME of a selector of an import.
func (s *source) of(n ast.Node) (where, name string) {
	selector, is := n.(*ast.SelectorExpr)
	if !is {
		return "", ""
	}
	x, is := selector.X.(*ast.Ident)
	if !is {
		return "", ""
	}
	return s.imports[x.Name], selector.Sel.Name
}

func (s *source) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		s.visitCall(n)
	case *ast.CompositeLit:
		s.visitMade(n, n.Type)
	case *ast.ValueSpec:
		s.visitMade(n, n.Type)
	case *ast.SelectorExpr:
		where, name := s.of(n)
		global := []string{"DefaultClient", "DefaultTransport", "Get", "Head", "Post", "PostForm"}
		if where == netHTTP && slices.Contains(global, name) || where == remotePkg && name == "DefaultTransport" {
			s.report(path.Base(where) + "." + name)
		}
	}
	return true
}

func (s *source) visitCall(call *ast.CallExpr) {
	where, name := s.of(call.Fun)
	if where == policy && len(call.Args) > 0 {
		s.guarded[call.Args[0]] = true
		if u, is := call.Args[0].(*ast.UnaryExpr); is {
			s.guarded[u.X] = true
		}
	}
	if f, is := call.Fun.(*ast.Ident); is && f.Name == "new" && len(call.Args) == 1 {
		s.visitMade(call, call.Args[0])
	}
	asks := []string{"Get", "Head", "Image", "Index", "Layer", "List", "Catalog", "Write", "WriteIndex", "WriteLayer", "MultiWrite", "Put", "Push", "Tag", "Delete", "Referrers", "NewPusher", "NewPuller"}
	if where == remotePkg && slices.Contains(asks, name) && !slices.ContainsFunc(call.Args, s.isTransport) {
		s.report("remote." + name)
	}
}

func (s *source) isTransport(arg ast.Expr) bool {
	call, is := arg.(*ast.CallExpr)
	if !is {
		return false
	}
	where, name := s.of(call.Fun)
	return where == remotePkg && name == "WithTransport"
}

func (s *source) visitMade(n ast.Node, kind ast.Expr) {
	where, name := s.of(kind)
	if where == netHTTP && (name == "Client" || name == "Transport" && !s.guarded[n]) {
		s.report("http." + name)
	}
}

// visitFunction requires that a function with the address of an API server wraps its
// transport.
func (s *source) visitFunction(f *ast.FuncDecl) {
	makes, wraps := "", false
	ast.Inspect(f, func(n ast.Node) bool {
		if n, is := n.(*ast.CompositeLit); is {
			if where, name := s.of(n.Type); where == restPkg && name == "Config" {
				makes = "rest.Config"
			}
		}
		switch where, name := s.of(n); {
		case where == restPkg && name == "InClusterConfig", where == clientcmd && (name == "BuildConfigFromFlags" || name == "RESTConfigFromKubeConfig"):
			makes = name
		case where == policy && name == "Stay":
			wraps = true
		}
		return true
	})
	if makes != "" && !wraps && !slices.Contains(readOnly, s.name+": "+f.Name.Name) {
		s.report(makes + " in " + f.Name.Name)
	}
}
