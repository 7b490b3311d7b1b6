package recipe

import (
	"context"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../../.." // the lab's module, relative to this package

// TestRecipesBuildTheVersionsTheyStamp: a version is in this package and in the recipe's go.mod.
func TestRecipesBuildTheVersionsTheyStamp(t *testing.T) {
	for dir, require := range map[string]string{
		"kubernetes":    "k8s.io/kubernetes v" + Kubernetes,
		"etcd":          "go.etcd.io/etcd/server/v3 v" + Etcd,
		"coredns":       "github.com/coredns/coredns v" + CoreDNS,
		"kubernetes135": "k8s.io/kubernetes v" + Before().Kubernetes,
		"etcd135":       "go.etcd.io/etcd/server/v3 v" + Before().Etcd,
		"coredns135":    "github.com/coredns/coredns v" + Before().CoreDNS,
		"kubernetes137": "k8s.io/kubernetes v" + After().Kubernetes,
		"etcd137":       "go.etcd.io/etcd/server/v3 v" + After().Etcd,
		"coredns137":    "github.com/coredns/coredns v" + After().CoreDNS,
		"flannel":       "github.com/flannel-io/flannel v" + Flannel,
		"cni-plugins":   "github.com/containernetworking/plugins v" + CNIPlugins,
		"containerd":    "github.com/containerd/containerd/v2 v" + Containerd,
		"containerd1":   "github.com/containerd/containerd v" + Containerd1,
		"crio":          "github.com/cri-o/cri-o v" + CRIO,
		"crictl":        "sigs.k8s.io/cri-tools v" + CRITools,
		"runc":          "github.com/opencontainers/runc v" + Runc,

		"device-plugin":     "github.com/NVIDIA/k8s-device-plugin v" + DevicePlugin,
		"container-toolkit": "github.com/NVIDIA/nvidia-container-toolkit v" + ContainerToolkit,
	} {
		mod, err := os.ReadFile(filepath.Join(root, "upstream/recipes", dir, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(mod), require+" ") && !strings.Contains(string(mod), require+"\n") {
			t.Errorf("%s/go.mod does not require %s", dir, require)
		}
	}
}

func TestKeyChangesWithEveryInput(t *testing.T) {
	dir := t.TempDir()
	mod := filepath.Join(dir, "m", "go.mod")
	if err := os.MkdirAll(filepath.Dir(mod), 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		if err := os.WriteFile(mod, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("module m\n")
	r := Recipe{Name: "m", Dir: "m", Packages: []string{"tool"}}
	seen := map[string]string{}
	check := func(name string, r Recipe, compiler string) {
		key, err := r.Key(dir, compiler)
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[key]; ok {
			t.Errorf("got the same key for %s and %s", name, other)
		}
		seen[key] = name
	}
	check("the recipe", r, "go1")
	check("another compiler", r, "go2")
	tagged, stamped := r, r
	tagged.Tags = []string{"seccomp"}
	check("a tag", tagged, "go1")
	stamped.Stamp = map[string]string{"main.v": "1"}
	check("a stamp", stamped, "go1")
	dlopen := r
	dlopen.Dlopen = true
	check("a library of the host", dlopen, "go1")
	write("module m\n\nrequire x v1\n")
	check("another go.mod", r, "go1")
	write("module m\n")
	if key, err := r.Key(dir, "go1"); err != nil || seen[key] != "the recipe" {
		t.Errorf("got the key of %q and error %v, want that of the recipe", seen[key], err)
	}
}

func TestBuildStampsAndNamesTheProgram(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":  "module m\n\ngo 1.26\n",
		"main.go": "package main\n\nvar version = \"none\"\n\nfunc main() { println(version) }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(t.TempDir(), "bin")
	r := Recipe{Name: "m", Dir: ".", Packages: []string{"."}, Stamp: map[string]string{"main.version": "v1.2.3"}, Rename: map[string]string{"m": "program"}}
	if err := r.Build(t.Context(), dir, out); err != nil {
		t.Fatal(err)
	}
	output, err := exec.Command(filepath.Join(out, "program")).CombinedOutput()
	if err != nil || string(output) != "v1.2.3\n" {
		t.Errorf("got %q and %v, want the stamped version", output, err)
	}
}

// TestDlopenBindsLate: the program can load a library that does not have all functions. A
// static program cannot load libraries.
func TestDlopenBindsLate(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":  "module m\n\ngo 1.26\n",
		"main.go": "package main\n\n// #include <stdlib.h>\nimport \"C\"\n\nfunc main() { C.free(nil) }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(t.TempDir(), "bin")
	if err := (Recipe{Name: "m", Dir: ".", Packages: []string{"."}, Dlopen: true}).Build(t.Context(), dir, out); err != nil {
		t.Fatal(err)
	}
	program, err := elf.Open(filepath.Join(out, "m"))
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	if libraries, err := program.ImportedLibraries(); err != nil || !slices.Contains(libraries, "libc.so.6") {
		t.Errorf("got libraries %v and error %v, want libc.so.6", libraries, err)
	}
	flags, err := program.DynValue(elf.DT_FLAGS)
	if err != nil || slices.ContainsFunc(flags, func(v uint64) bool { return v&uint64(elf.DF_BIND_NOW) != 0 }) {
		t.Errorf("got flags %x and error %v, want no BIND_NOW", flags, err)
	}
}

func TestFailedBuildKeepsPreviousResult(t *testing.T) {
	out := filepath.Join(t.TempDir(), "bin")
	if err := os.Mkdir(out, 0o755); err != nil {
		t.Fatal(err)
	}
	err := Recipe{Name: "none", Dir: ".", Packages: []string{"./none"}}.Build(context.Background(), t.TempDir(), out)
	if err == nil || !strings.Contains(err.Error(), "go build") {
		t.Errorf("got %v, want an error about go build", err)
	}
	if _, err := os.Stat(out); err != nil {
		t.Error(err)
	}
}
