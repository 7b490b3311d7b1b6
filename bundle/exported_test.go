package bundle_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestOnlyVerifiedBytesLeave lists each way in which bytes leave the package: results,
// writers and callbacks in arguments, fields of results. Bytes from the medium come
// from Content, which verifies each read. Review a new way before you list it here.
func TestOnlyVerifiedBytesLeave(t *testing.T) {
	known := []string{
		"Bundle.FS", "View.FS", // of Content
		"Content.Open", "Content.Reader", "Content.ReadAt", "Reader.Read", // verified
		"Bundle.Attested",                         // of Own, which is a Reader
		"Attest",                                  // verifies
		"MergeCosignatures",                       // only signatures that their keys made on SHA256SUMS
		"Signed.Files",                            // the index and the files for its verification
		"MarshalPublicKey", "Plan.NetworkObjects", // created by this package
		"Values.Text", "Request.Config", "Part.Chunks", // from the site, and hashes
	}
	var found []string
	for _, f := range exportedFunctions(t) {
		if gives(f.Type) {
			found = append(found, nameOf(f))
		}
	}
	for name, s := range exportedStructs(t) {
		for _, field := range s.Fields.List {
			for _, n := range field.Names {
				if n.IsExported() && isBytes(field.Type) {
					found = append(found, name+"."+n.Name)
				}
			}
		}
	}
	for _, name := range found {
		if !slices.Contains(known, name) {
			t.Errorf("%s returns bytes: check that they are verified", name)
		}
	}
	for _, name := range known {
		if !slices.Contains(found, name) {
			t.Errorf("%s does not exist: remove it here, or fix the search of this test", name)
		}
	}
}

// gives reports whether a caller gets bytes: as a result, or through a writer or a
// function in the arguments.
func gives(f *ast.FuncType) bool {
	if f.Results != nil {
		for _, result := range f.Results.List {
			if isBytes(result.Type) {
				return true
			}
			if returned, is := result.Type.(*ast.FuncType); is && gives(returned) {
				return true
			}
		}
	}
	for _, param := range f.Params.List {
		kind := types.ExprString(param.Type)
		if kind == "[]byte" && f.Results != nil && types.ExprString(f.Results.List[0].Type) == "int" {
			return true // it fills its argument
		}
		if strings.HasPrefix(kind, "io.Write") || kind == "io.ReadWriter" || strings.HasPrefix(kind, "func(") && strings.Contains(kind, "byte") {
			return true
		}
		if handed, is := param.Type.(*ast.FuncType); is && takes(handed) {
			return true
		}
	}
	return false
}

// takes reports whether a function in the arguments is called with bytes.
func takes(f *ast.FuncType) bool {
	return slices.ContainsFunc(f.Params.List, func(param *ast.Field) bool { return isBytes(param.Type) })
}

// isBytes reports whether a type contains bytes, or is a reader of bytes.
func isBytes(of ast.Expr) bool {
	kind := types.ExprString(of)
	return strings.Contains(kind, "byte") || strings.HasPrefix(kind, "io.") && !strings.HasPrefix(kind, "io.Writ") ||
		strings.Contains(kind, "fs.F") || strings.Contains(kind, "os.File") || strings.Contains(kind, "os.Root") || strings.Contains(kind, "json.RawMessage") ||
		strings.Contains(kind, "bytes.") || kind == "*Reader" || kind == "*strings.Reader" || strings.Contains(kind, "Opener")
}

func exportedStructs(t *testing.T) map[string]*ast.StructType {
	all := map[string]*ast.StructType{}
	for _, file := range sources(t) {
		for _, d := range file.Decls {
			general, is := d.(*ast.GenDecl)
			if !is {
				continue
			}
			for _, spec := range general.Specs {
				of, is := spec.(*ast.TypeSpec)
				if !is || !of.Name.IsExported() {
					continue
				}
				if s, is := of.Type.(*ast.StructType); is {
					all[of.Name.Name] = s
				}
			}
		}
	}
	return all
}

// sources are the files of the package without its tests.
func sources(t *testing.T) []*ast.File {
	t.Helper()
	names, err := os.ReadDir(".")
	must(t, err)
	var all []*ast.File
	for _, e := range names {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0)
		must(t, err)
		all = append(all, file)
	}
	return all
}

func exportedFunctions(t *testing.T) []*ast.FuncDecl {
	var all []*ast.FuncDecl
	for _, file := range sources(t) {
		for _, d := range file.Decls {
			if f, is := d.(*ast.FuncDecl); is && f.Name.IsExported() && ast.IsExported(receiver(f)) {
				all = append(all, f)
			}
		}
	}
	return all
}

// receiver is the type name of the receiver; a function without one counts as exported.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return "Bundle"
	}
	return strings.TrimPrefix(types.ExprString(f.Recv.List[0].Type), "*")
}

func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	return receiver(f) + "." + f.Name.Name
}
