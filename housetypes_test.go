package airgap_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTypesOfTheHouse holds two rules of cluster/ that only types show.
func TestTypesOfTheHouse(t *testing.T) {
	packages := aboveSites(t)
	// No package but cluster/site assigns to a field of a site.Site, or through
	// one. Code with new information makes another site, with its methods.
	t.Run("a site is never changed", func(t *testing.T) {
		for _, p := range packages {
			for _, to := range p.siteChanges() {
				t.Errorf("%s: the field %s of a site is changed: have a method of site.Site return another one", p.positions.Position(to.Pos()), p.siteField(to))
			}
		}
	})
	// No method of a struct hides one of a struct of the same package that it embeds: which of the
	// two runs would depend on the caller.
	t.Run("nothing shadows", func(t *testing.T) {
		for _, p := range packages {
			for _, hidden := range shadows(p.Package) {
				t.Error(hidden)
			}
		}
	})
}

// TestTypesAreFound: the rules find their violations.
func TestTypesAreFound(t *testing.T) {
	p := &checked{positions: token.NewFileSet(), site: "x"}
	file, err := parser.ParseFile(p.positions, "x.go", `package x
type Config struct { Name string; Nodes []string; By map[string]int }
type Site struct { Config *Config; Size int }
type holder struct { *Site }
func (h holder) Len() int { return h.Size }
type keeper struct { holder }
func (keeper) Len() int { return 0 }
func change(s *Site, h holder, all []*Site, other Config) {
	s.Size = 1
	s.Size++
	h.Size, other.Name = 2, ""
	all[0].Config.Nodes[1] = ""
	(*s).Config.By["x"]++
	for s.Size = range 3 {
	}
	c := *s.Config
	c.Name = s.Config.Name
	other.By[s.Config.Name] = s.Size
}`, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.check("x", []*ast.File{file}, nil); err != nil {
		t.Fatal(err)
	}
	var fields []string
	for _, to := range p.siteChanges() {
		fields = append(fields, p.siteField(to))
	}
	if want := []string{"Size", "Size", "Size", "Config", "Config", "Size"}; !slices.Equal(fields, want) {
		t.Errorf("found changes of %q, want %q", fields, want)
	}
	if hidden := shadows(p.Package); len(hidden) != 1 || !strings.HasPrefix(hidden[0], "x.keeper.Len hides holder.Len") {
		t.Errorf("found %q", hidden)
	}
}

// siteChanges are the expressions by which the package changes sites.
func (p *checked) siteChanges() (all []ast.Expr) {
	for _, file := range p.files {
		ast.Inspect(file, func(n ast.Node) bool {
			for _, to := range changed(n) {
				if p.siteField(to) != "" {
					all = append(all, to)
				}
			}
			return true
		})
	}
	return all
}

// changed are the expressions that a statement assigns to.
func changed(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			return n.Lhs
		}
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			return []ast.Expr{n.Key, n.Value}
		}
	}
	return nil
}

// siteField is the field of a site that an assignment goes to or through; "" for none.
func (p *checked) siteField(to ast.Expr) string {
	for {
		switch e := to.(type) {
		case *ast.ParenExpr:
			to = e.X
		case *ast.StarExpr:
			to = e.X
		case *ast.IndexExpr:
			to = e.X
		case *ast.SelectorExpr:
			if s := p.info.Selections[e]; s != nil && p.ofSite(s.Obj()) {
				return e.Sel.Name
			}
			to = e.X
		default:
			return ""
		}
	}
}

// ofSite reports whether this is a field of site.Site.
func (p *checked) ofSite(field types.Object) bool {
	v, is := field.(*types.Var)
	if !is || v.Pkg() == nil || v.Pkg().Path() != p.site {
		return false
	}
	site, is := v.Pkg().Scope().Lookup("Site").Type().Underlying().(*types.Struct)
	return is && slices.Contains(slices.Collect(site.Fields()), v)
}

// shadows are the methods that hide one of an embedded struct of the same package.
func shadows(p *types.Package) (hidden []string) {
	for _, name := range p.Scope().Names() {
		of, is := p.Scope().Lookup(name).(*types.TypeName)
		if !is {
			continue
		}
		outer, named := of.Type().(*types.Named)
		fields, isStruct := of.Type().Underlying().(*types.Struct)
		if !named || !isStruct {
			continue
		}
		for field := range fields.Fields() {
			inner := field.Type()
			if to, is := inner.(*types.Pointer); is {
				inner = to.Elem()
			}
			of, named := inner.(*types.Named)
			if _, isStruct := inner.Underlying().(*types.Struct); !field.Embedded() || !named || !isStruct || of.Obj().Pkg() != p {
				continue
			}
			for m := range outer.Methods() {
				if found, _, _ := types.LookupFieldOrMethod(inner, true, p, m.Name()); found != nil {
					hidden = append(hidden, p.Name()+"."+name+"."+m.Name()+" hides "+of.Obj().Name()+"."+m.Name()+": give one of them another name, or hold the struct in a field")
				}
			}
		}
	}
	return hidden
}

// checked is a package with its types, without its tests.
type checked struct {
	*types.Package

	positions *token.FileSet
	files     []*ast.File
	info      types.Info
	site      string // path of the package that has Site
}

func (p *checked) check(path string, files []*ast.File, of types.Importer) (err error) {
	p.files, p.info = files, types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}}
	p.Package, err = (&types.Config{Importer: of}).Check(path, p.positions, files, &p.info)
	return err
}

// aboveSites are the packages below cluster/, and others that import cluster/site. Their imports
// come from the build.
func aboveSites(t *testing.T) []*checked {
	t.Helper()
	const site = module + "/cluster/site"
	exported, sources := map[string]string{}, map[string]bool{}
	for _, p := range list(t) {
		above := slices.Contains(p.Imports, site) || strings.HasPrefix(p.ImportPath, module+"/"+orchestration)
		if above && p.ImportPath != site && !strings.HasSuffix(p.ImportPath, "test") {
			sources[p.ImportPath] = true
		}
	}
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Export,Dir,GoFiles"}
	for path := range sources {
		args = append(args, path)
	}
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []built
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p built
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		exported[p.ImportPath] = p.Export
		if sources[p.ImportPath] {
			packages = append(packages, p)
		}
	}
	positions := token.NewFileSet()
	of := importer.ForCompiler(positions, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exported[path]) })
	var all []*checked
	for _, p := range packages {
		c := &checked{positions: positions, site: site}
		if err := c.check(p.ImportPath, p.parse(t, positions), of); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

// built is the output of go list for a package and its build.
type built struct {
	ImportPath, Export, Dir string
	GoFiles                 []string
}

func (p built) parse(t *testing.T, positions *token.FileSet) (files []*ast.File) {
	t.Helper()
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(positions, filepath.Join(p.Dir, name), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}
