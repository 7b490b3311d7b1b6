package preflight

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"airgap.dev/airgap/preflight/facts"
)

// TestWantAndFactsAreData: the arguments of a check contain no functions or interfaces, at any depth.
func TestWantAndFactsAreData(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var walk func(path string, of reflect.Type)
	walk = func(path string, of reflect.Type) {
		if seen[of] || of.PkgPath() != "" && !strings.HasPrefix(of.PkgPath(), "airgap.dev/") {
			return // time.Time and net/netip
		}
		seen[of] = true
		switch of.Kind() {
		case reflect.Func, reflect.Chan, reflect.Interface, reflect.UnsafePointer:
			t.Errorf("%s is a %s: gather its data before the checks run", path, of)
		case reflect.Pointer, reflect.Slice, reflect.Array:
			walk(path+"[]", of.Elem())
		case reflect.Map:
			walk(path+"[key]", of.Key())
			walk(path+"[]", of.Elem())
		case reflect.Struct:
			for field := range of.Fields() {
				walk(path+"."+field.Name, field.Type)
			}
		}
	}
	walk("Want", reflect.TypeFor[Want]())
	walk("Facts", reflect.TypeFor[facts.Facts]())
	if !seen[reflect.TypeFor[facts.GPUs]()] || !seen[reflect.TypeFor[BootSysctl]()] {
		t.Errorf("walked only %v", seen)
	}
}

// TestChecksArePure: the package accesses a host only through host.Host, which checks do not get.
func TestChecksArePure(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	banned := []string{"os", "os/exec", "os/user", "net", "net/http", "syscall", "golang.org/x/sys/unix", "airgap.dev/airgap/internal/remote", "airgap.dev/airgap/internal/httpclient"}
	checks := 0
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range parsed.Imports {
			if path, err := strconv.Unquote(i.Path.Value); err != nil || slices.Contains(banned, path) {
				t.Errorf("%s imports %s", file.Name(), i.Path.Value)
			}
		}
		for _, d := range parsed.Decls {
			f, is := d.(*ast.FuncDecl)
			if !is || f.Type.Results == nil || len(f.Type.Results.List) == 0 || !isIdent(f.Type.Results.List[0].Type, "Result") {
				continue
			}
			checks++
			ast.Inspect(f, func(n ast.Node) bool {
				if s, is := n.(*ast.SelectorExpr); is && (isIdent(s.X, "host") && s.Sel.Name != "PCIDevice" && s.Sel.Name != "SharedCNIDir" || isIdent(s.X, "time") && s.Sel.Name == "Now" || isIdent(s.X, "fs")) {
					t.Errorf("%s: %s uses %s.%s: a check must not gather facts", file.Name(), f.Name.Name, s.X, s.Sel.Name)
				}
				return true
			})
		}
	}
	if checks < 50 {
		t.Errorf("found only %d functions of checks", checks)
	}
}

func isIdent(e ast.Expr, name string) bool {
	id, is := e.(*ast.Ident)
	return is && id.Name == name
}
