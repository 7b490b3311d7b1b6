package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOurPrograms: every module that is in a program is allowed to be there, and says so.
func TestOurPrograms(t *testing.T) {
	var b bytes.Buffer
	if err := run(t.Context(), &b, []string{"airgap.dev/airgap/cmd/airgap", "airgap.dev/airgap/cmd/airgap-nvml"}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\nGo go1.", ": LICENSE\n", "github.com/NVIDIA/go-nvml ", "k8s.io/client-go ", "Apache License", "The Go Authors",
		"github.com/prometheus/client_golang", ": NOTICE\n",
		": zstd/internal/xxhash/LICENSE.txt\n", // of a package that was taken over from elsewhere
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("it lacks %q", want)
		}
	}
	for _, own := range []string{"airgap.dev/airgap", "github.com/redis/go-redis"} { // of the second only names are there, in internal/unlinked
		if strings.Contains(b.String(), own) {
			t.Errorf("%s is not a third party", own)
		}
	}
}

func TestGather(t *testing.T) {
	root := t.TempDir()
	for name, said := range map[string]string{
		"a/LICENSE": "MIT\n", "a/license.go": "package a", "a/deep/in/COPYING.txt": "of a part\r\n", "a/other/LICENSE": "of what is not linked",
		"b/LICENCE-MIT": "MIT", "b/NOTICE": "b's\n", "c/README": "free",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(said), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	of := func(module, dir string) part {
		return part{module, "v1", filepath.Join(root, dir), filepath.Join(root, module)}
	}
	linked := []part{of("b", "b"), of("a", "a/deep/in"), of("a", "a")}
	texts, err := gather(linked)
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Repeat("=", 80)
	want := "What airgap is made of beside its own source is under these licences.\n\n" +
		line + "\na v1: LICENSE\nb v1: LICENCE-MIT\n\nMIT\n\n" +
		line + "\na v1: deep/in/COPYING.txt\n\nof a part\n\n" +
		line + "\nb v1: NOTICE\n\nb's\n"
	if got := string(write(texts)); got != want {
		t.Errorf("it says\n%s, want\n%s", got, want)
	}
	if _, err := gather(append(linked, of("c", "c"))); err == nil || !strings.Contains(err.Error(), "c has no file with its licence") {
		t.Errorf("a module without a licence: %v", err)
	}
}
