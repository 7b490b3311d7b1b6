package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle/program"
)

// TestUnitsGiveNoOtherDirectory: the list has each directory that a unit gives to a user other than
// root.
func TestUnitsGiveNoOtherDirectory(t *testing.T) {
	units, err := program.Units()
	if err != nil {
		t.Fatal(err)
	}
	var given []string
	for name, text := range units {
		user := unitUser(string(text))
		if user == "root" {
			continue
		}
		for _, dir := range unitDirectories(string(text)) {
			given = append(given, dir)
			i := slices.IndexFunc(foreignDirs(), func(d foreignDir) bool { return d.Dir == dir })
			if i < 0 || foreignDirs()[i].Owner != user || foreignDirs()[i].Unit != name {
				t.Errorf("%s gives %s to user %s: add it to foreignDirs with the action of root", name, dir, user)
			}
		}
	}
	for _, d := range foreignDirs() {
		if d.Unit != "" && !slices.Contains(given, d.Dir) {
			t.Errorf("%s does not give %s to user %s", d.Unit, d.Dir, d.Owner)
		}
	}
}

func unitUser(text string) string {
	user := "root"
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch {
		case key == "User":
			user = value
		case key == "DynamicUser" && value == "yes":
			user = "a dynamic user"
		}
	}
	return user
}

func unitDirectories(text string) (all []string) {
	below := map[string]string{
		"StateDirectory": "/var/lib/", "RuntimeDirectory": "/run/", "CacheDirectory": "/var/cache/",
		"LogsDirectory": "/var/log/", "ConfigurationDirectory": "/etc/", "ReadWritePaths": "", "BindPaths": "",
	}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if at, is := below[key]; is {
			for dir := range strings.FieldsSeq(value) {
				all = append(all, at+strings.TrimLeft(dir, "-+"))
			}
		}
	}
	return all
}

// TestCodeGivesNoOtherDirectory: only package host changes owners of files, and the list has each
// source file that opens the directory of another user.
func TestCodeGivesNoOtherDirectory(t *testing.T) {
	var listed []string
	for _, d := range foreignDirs() {
		listed = append(listed, d.OpenedIn...)
	}
	opened := map[string]bool{}
	for file, calls := range sourceCalls(t) {
		for _, call := range calls {
			switch {
			case slices.Contains([]string{"Chown", "Lchown", "Fchown", "Fchownat"}, call):
				t.Errorf("%s calls %s: use host.Owned or host.WriteForGroup, which use the open file", file, call)
			case call == "OpenOwned":
				opened[file] = true
			case call == "RemoveAll" && !slices.Contains(ownScratch(), file):
				t.Errorf("%s calls RemoveAll: use host.RemoveTree, which follows no link and crosses no mount", file)
			}
		}
	}
	for file := range opened {
		if !slices.Contains(listed, file) {
			t.Errorf("%s opens the directory of another user: add it to foreignDirs", file)
		}
	}
	for _, file := range listed {
		if !opened[file] {
			t.Errorf("%s does not open the directory of another user", file)
		}
	}
}

// ownScratch returns the source files that delete files of the same process, or files of the registry
// in its own directory.
func ownScratch() []string {
	return []string{"cluster/site/scratch.go", "registry/deletions.go", "registry/files/files.go", "registry/inplace.go"}
}

// sourceCalls returns the names of the functions that each source file calls, except package host.
func sourceCalls(t *testing.T) map[string][]string {
	t.Helper()
	root, all := "../..", map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name == "e2e" || name == "internal/host" || strings.HasPrefix(d.Name(), ".") && name != "." || strings.HasSuffix(name, "test") || d.Name() == "testdata" {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.Contains(string(text), "chown ") {
			t.Errorf("%s has a script that runs chown", name)
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, is := n.(*ast.CallExpr); is {
				if s, is := call.Fun.(*ast.SelectorExpr); is {
					all[name] = append(all[name], s.Sel.Name)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestForeignDirsAreTrapped: each directory in the list has a test with traps by its user.
func TestForeignDirsAreTrapped(t *testing.T) {
	out, err := exec.Command("grep", "-rhoE", `^func Test[A-Za-z0-9]+\(`, "--include=*_test.go", "../..").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range foreignDirs() {
		if d.Dir == "" || d.Owner == "" || d.Root == "" {
			t.Errorf("%+v is incomplete", d)
		}
		if !strings.Contains(string(out), "func "+d.Test+"(") {
			t.Errorf("%s: no test %q", d.Dir, d.Test)
		}
	}
}
