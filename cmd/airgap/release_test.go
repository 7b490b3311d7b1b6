package main

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/bundle/papers"
	"airgap.dev/airgap/bundle/program"
	"airgap.dev/airgap/gpu/nvml/nvmltest"
	"airgap.dev/airgap/internal/advice"
)

// TestRelease checks a release with the commands of its README, without airgap. Two builds are equal.
func TestRelease(t *testing.T) {
	bundletest.Need(t, "openssl", "sha256sum", "rpm")
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	from := program.Source{Airgap: own, NVML: nvmltest.Build(t).Helper, Probe: own, Commands: commands}
	dir := t.TempDir()
	keys, err := program.CheckKeys(t.Context(), program.KeyOptions{Dir: dir, New: true})
	if err == nil {
		err = keys.Make()
	}
	if err != nil {
		t.Fatal(err)
	}
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "dist", "two")
	for _, out := range []string{one, two} {
		files, err := program.ReleaseFiles(from, keys)
		if err != nil {
			t.Fatal(err)
		}
		if err := bundle.WriteSigned(out, files, keys.Bundle); err != nil {
			t.Fatal(err)
		}
	}
	runs(t, "diff", "-r", one, two)
	runs(t, "sh", "-ec", `cd "$1"
openssl dgst -sha256 -verify airgap.pub -signature SHA256SUMS.sig SHA256SUMS
sha256sum --strict -c SHA256SUMS
rpm --dbpath "$2" --import RPM-GPG-KEY-airgap
rpm --dbpath "$2" -K airgap-*.rpm | grep 'digests signatures OK'
! rpm -qlp --nosignature airgap-*.rpm | grep -E '[.]pub|RPM-GPG-KEY'
for file in *; do
  case $file in SHA256SUMS*) ;; *) grep -q "  $file\$" SHA256SUMS ;; esac
done`, "sh", one, filepath.Join(dir, "db"))
	printed := strings.Fields(string(runs(t, "sh", "-ec", `openssl pkey -pubin -in "$1"/airgap.pub -outform DER | sha256sum`, "sh", one)))[0]
	if want := keys.Fingerprint(); want != "SHA256:"+printed {
		t.Errorf("the README's command gives %s, the fingerprint is %s", printed, want)
	}
	if err := bundle.WriteSigned(one, nil, keys.Bundle); err == nil {
		t.Error("a release was written over another one")
	}
	text, err := os.ReadFile(filepath.Join(one, papers.SBOMName))
	if err != nil {
		t.Fatal(err)
	}
	checkReleaseSBOM(t, text)
}

// TestReleaseNeedsNoLibraries: a dynamically linked program is refused. With cgo, the program of this
// test is one.
func TestReleaseNeedsNoLibraries(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := elf.Open(own)
	if err != nil {
		t.Fatal(err)
	}
	defer binary.Close()
	if binary.Section(".interp") == nil {
		t.Skip("built without cgo")
	}
	dir := t.TempDir()
	_, err = program.Release(t.Context(), program.ReleaseOptions{Commands: commands, Out: filepath.Join(dir, "release"), Keys: program.KeyOptions{Dir: filepath.Join(dir, "keys")}})
	if err == nil || !strings.Contains(err.Error(), "not a static x86_64 program") || !strings.Contains(advice.Of(err), "make build") {
		t.Errorf("release of %s: %v", own, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left files: %v, %v", left, err)
	}
}

// checkReleaseSBOM checks that the SBOM has the modules in go version -m.
func checkReleaseSBOM(t *testing.T, text []byte) {
	t.Helper()
	doc, err := spdxjson.Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	locators := map[string]*spdx.Package{}
	contains := map[string]int{} // modules by program
	names := map[string]string{}
	for _, p := range doc.Packages {
		names[string(p.PackageSPDXIdentifier)] = p.PackageName
		for _, ref := range p.PackageExternalReferences {
			locators[ref.Locator] = p
		}
	}
	for _, r := range doc.Relationships {
		if r.Relationship == spdx.RelationshipContains {
			contains[names[string(r.RefA.ElementRefID)]]++
		}
	}
	goVersion := strings.TrimPrefix(runtime.Version(), "go")
	if locators["pkg:golang/stdlib@"+goVersion] == nil {
		t.Errorf("the SBOM has no Go %s", goVersion)
	}
	module := strings.Fields(string(runs(t, "go", "list", "-m", "github.com/spf13/cobra", "github.com/NVIDIA/go-nvml")))
	sums, err := os.ReadFile(filepath.Join("..", "..", "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(module); i += 2 {
		p := locators["pkg:golang/"+module[i]+"@"+module[i+1]]
		switch {
		case p == nil:
			t.Errorf("the SBOM has no %s %s", module[i], module[i+1])
		case !bytes.Contains(sums, []byte(module[i]+" "+module[i+1]+" "+strings.TrimPrefix(p.PackageSourceInfo, "go.sum: ")+"\n")):
			t.Errorf("for %s the SBOM has %q", module[i], p.PackageSourceInfo)
		}
	}
	if len(contains) != 2 || contains["airgap-nvml"] < 2 {
		t.Errorf("modules by program: %v", contains)
	}
}

func runs(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("%s %v: %v: %s%s", name, args, err, stderr.Bytes(), out)
	}
	return out
}
