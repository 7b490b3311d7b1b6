package debian

import (
	"path/filepath"
	"slices"
	"testing"

	"airgap.dev/airgap/e2e/upstream/internal/archive"
)

func TestClosureOfAShellHasItsLibrariesAndTheLoader(t *testing.T) {
	files, err := Closure("/usr/bin/dash")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"usr/bin/dash", "usr/lib/x86_64-linux-gnu/libc.so.6", "lib64/ld-linux-x86-64.so.2"} {
		if !slices.ContainsFunc(files, func(f archive.File) bool { return f.Path == want }) {
			t.Errorf("the closure has no %s", want)
		}
	}
}

func TestELFDependenciesAreInTheNotationOfRPM(t *testing.T) {
	libc, err := filepath.EvalSymlinks(Library("libc.so.6"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := ELFDependencies(libc)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"libc.so.6()(64bit)", "libc.so.6(GLIBC_2.34)(64bit)"} {
		if !slices.Contains(d.Provides, want) {
			t.Errorf("libc does not provide %s", want)
		}
	}
	d, err = ELFDependencies("/usr/bin/dash", "/etc/passwd")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(d.Requires, "libc.so.6()(64bit)") {
		t.Errorf("got requires %v of dash, want libc", d.Requires)
	}
	if len(d.Provides) > 0 {
		t.Errorf("got provides %v of dash, want none", d.Provides)
	}
}
