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

// TestOnlyVerifiedBytesLeave names each exported function that gives out bytes, or
// something to read them from. Those of a bundle's medium come from Content, whose
// reads are verified; a new function has to be looked at before it is listed here.
func TestOnlyVerifiedBytesLeave(t *testing.T) {
	known := []string{
		"Bundle.FS", "View.FS", // of Content
		"Content.Open", "Content.Reader", "Reader.Read", "Content.ReadAt", // verified
		"Bundle.Vouched",                                                                      // of Own, which is a Reader
		"Vouch",                                                                               // verifies
		"MarshalPublicKey", "Plan.NetworkObjects", "Plan.Report", "Plan.SBOM", "ProgramsSBOM", // made here
		"Client.Open", // of an upstream, on the connected side: the fetcher compares it with the lock
	}
	var found []string
	for _, f := range exportedFunctions(t) {
		if f.Type.Results == nil {
			continue
		}
		for _, result := range f.Type.Results.List {
			kind := types.ExprString(result.Type)
			if kind == "[]byte" || strings.HasPrefix(kind, "io.") || strings.HasPrefix(kind, "fs.F") || strings.HasPrefix(kind, "*os.") || strings.Contains(kind, "]byte") || kind == "*Reader" {
				found = append(found, nameOf(f))
				break
			}
		}
	}
	for _, name := range found {
		if !slices.Contains(known, name) {
			t.Errorf("%s gives out bytes: are they verified?", name)
		}
	}
	for _, wants := range []string{"Bundle.FS", "Content.Open", "Bundle.Vouched"} {
		if !slices.Contains(found, wants) {
			t.Errorf("%s is not found: this test looks in the wrong place", wants)
		}
	}
}

func exportedFunctions(t *testing.T) []*ast.FuncDecl {
	names, err := os.ReadDir(".")
	must(t, err)
	var all []*ast.FuncDecl
	for _, e := range names {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0)
		must(t, err)
		for _, d := range file.Decls {
			if f, is := d.(*ast.FuncDecl); is && f.Name.IsExported() && ast.IsExported(receiver(f)) {
				all = append(all, f)
			}
		}
	}
	return all
}

// receiver is the name of its type; that of a function counts as exported.
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
