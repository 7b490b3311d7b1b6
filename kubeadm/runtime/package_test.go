package runtime

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
)

func packaged(name string) Config {
	r := Config{Name: name, Source: FromPackage}
	r.Default("1.36.3")
	return r
}

func packageOptions(name string) Options {
	return Options{
		Runtime: packaged(name), Sandbox: "registry.k8s.io/pause:3.10.2", Mirrors: CRIOContainers + "/registries.conf", Facts: Facts{Driver: Systemd},
		Foreign: func(context.Context, string) ([]string, error) { return nil, nil },
	}
}

func TestRuntimePackages(t *testing.T) {
	for _, tc := range []struct{ name, os, spec, base, key string }{
		{"containerd", "el9", "containerd.io-2.3.7", "https://download.docker.com/linux/rhel/9/x86_64/stable/", "https://download.docker.com/linux/rhel/gpg"},
		{"crio", "el10", "cri-o-1.36.3", "https://pkgs.k8s.io/addons:/cri-o:/stable:/v1.36/rpm/", "https://pkgs.k8s.io/addons:/cri-o:/stable:/v1.36/rpm/repodata/repomd.xml.key"},
	} {
		r := packaged(tc.name)
		from := r.PackageRepositories(tc.os)
		if !slices.Equal(r.Packages(), []string{tc.spec}) || len(from) != 1 || from[0].BaseURL != tc.base || from[0].GPGKey != tc.key {
			t.Errorf("%s: %v from %+v", tc.name, r.Packages(), from)
		}
		if files := r.Files("amd64"); len(files) > 0 {
			t.Errorf("%s: files %v in addition to the package", tc.name, files)
		}
		r = Config{Name: tc.name}
		r.Default("1.36.3")
		if len(r.Packages())+len(r.PackageRepositories(tc.os)) > 0 || r.Package() != "" {
			t.Errorf("%s: packages in addition to the archive", tc.name)
		}
	}
}

func TestRuntimeSourceIsValidated(t *testing.T) {
	for _, tc := range []struct {
		r     Config
		wrong string // "" for nothing
	}{
		{Config{Source: FromPackage}, ""},
		{Config{Name: "crio", Source: FromPackage}, ""},
		{Config{Source: "rpm"}, `runtime.source: Unsupported value: "rpm"`},
		{Config{Source: FromPackage, RuncVersion: "1.5.2"}, "runtime.runcVersion: Forbidden"},
	} {
		tc.r.Default("1.36.3")
		errs := tc.r.Validate(field.NewPath("runtime"))
		if tc.wrong == "" && len(errs) == 0 || len(errs) == 1 && strings.Contains(errs[0].Error(), tc.wrong) {
			continue
		}
		t.Errorf("%+v: %v, want %q", tc.r, errs, tc.wrong)
	}
}

// containerdOff is the configuration of Docker's package.
const containerdOff = "disabled_plugins = [\"cri\"]\n"

func TestPackagedContainerd(t *testing.T) {
	f, m := hosttest.New(t)
	f.Put(t, "/usr/lib/systemd/system/containerd.service", "[Service]\nExecStart=/usr/bin/containerd\n")
	f.Put(t, containerdConfig, containerdOff)
	withRuntime(t, f, m, containerdPackage())
	s := ServiceStep(m, packageOptions("containerd"))
	hosttest.MustBeDone(t, s.Done, false)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	hosttest.MustBeDone(t, s.Done, true)
	if text := f.Get(containerdConfig); !strings.Contains(text, `BinaryName = '/usr/bin/runc'`) || strings.Contains(text, "disabled_plugins") {
		t.Errorf("configuration:\n%s", text)
	}
	if unit := f.Get(containerdPackage().unit); strings.Contains(unit, "ExecStart=") || strings.Contains(unit, host.BinDir) || !strings.Contains(unit, "UMask=0022") {
		t.Errorf("drop-in of the package's unit:\n%s", unit)
	}
	if f.Has(containerd().unit) || engineOn(m).rpm != "containerd.io" {
		t.Errorf("airgap's unit exists: %t; runtime: %+v", f.Has(containerd().unit), engineOn(m).rpm)
	}

	var failed *host.Failure
	archive := ServiceStep(m, options(t, "", Facts{Driver: Systemd}))
	if err := archive.Run(t.Context()); !errors.As(err, &failed) || !strings.Contains(err.Error(), "from the package containerd.io") || !strings.Contains(failed.Next, "source: package") {
		t.Errorf("the archive next to the package: %v", err)
	}

	undo := ServiceStep(m, Options{}).Undo // as reset does, without a configuration
	if err := undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f.Get(containerdConfig) != containerdOff || f.Has(containerdPackage().unit) || f.Has(runtimeUndo) || !f.Has("/usr/lib/systemd/system/containerd.service") {
		t.Errorf("after the undo: %s", f.Get(containerdConfig))
	}
	f.Put(t, containerdConfig, "of the site\n")
	if err := undo(t.Context()); err != nil || f.Get(containerdConfig) != "of the site\n" {
		t.Errorf("a second undo: %v, %s", err, f.Get(containerdConfig))
	}
}

// TestForeignPackageIsRefused covers a package that airgap did not install, and a unit that replaces
// the package's.
func TestForeignPackageIsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		foreign []string
		unit    string
		says    string
	}{
		"there before": {foreign: []string{"containerd.io-0:2.3.7-1.el9.x86_64"}, says: "containerd.io-0:2.3.7-1.el9.x86_64 was installed on this host before"},
		"own unit":     {unit: "/etc/systemd/system/containerd.service", says: "airgap has not written /etc/systemd/system/containerd.service"},
	} {
		t.Run(name, func(t *testing.T) {
			f, m := hosttest.New(t)
			f.Put(t, containerdConfig, containerdOff)
			if tc.unit != "" {
				f.Put(t, tc.unit, "[Service]\n")
			}
			o := packageOptions("containerd")
			o.Foreign = func(context.Context, string) ([]string, error) { return tc.foreign, nil }
			s := ServiceStep(m, o)
			var failed *host.Failure
			if err := s.Run(t.Context()); !errors.As(err, &failed) || !strings.Contains(err.Error(), tc.says) || failed.Next == "" {
				t.Errorf("got %v", err)
			}
			if _, err := s.Plan(t.Context()); err == nil {
				t.Error("the dry run returned no error")
			}
			if f.Get(containerdConfig) != containerdOff || f.Has(containerdPackage().unit) || f.Ran("systemctl") > 0 {
				t.Errorf("the host was changed: %v", f.Calls)
			}
		})
	}
}

// packageDropIn has the format of the drop-in in the project's package: another default runtime and
// another monitor.
const packageDropIn = `[crio.image]
signature_policy = "/etc/crio/policy.json"
[crio.runtime]
default_runtime = "crun"
[crio.runtime.runtimes.crun]
runtime_path = "/usr/libexec/crio/crun"
runtime_root = "/run/crun"
monitor_path = "/usr/libexec/crio/conmon"
[crio.runtime.runtimes.runc]
runtime_path = "/usr/libexec/crio/runc"
runtime_root = "/run/runc"
monitor_path = "/usr/libexec/crio/conmonrs"
`

// TestPackagedCRIO checks with the real CRI-O that airgap's drop-in comes after the package's and
// before the site's.
func TestPackagedCRIO(t *testing.T) {
	o := packageOptions("crio")
	o.NVIDIA = true
	files, err := crioFiles(o)
	if err != nil {
		t.Fatal(err)
	}
	dropIns := t.TempDir()
	for name, text := range map[string]string{
		"10-crio.conf":                      packageDropIn,
		filepath.Base(crioPackage().config): string(files[crioPackage().config]),
		"50-site.conf":                      "[crio.runtime]\npids_limit = 4096\n",
		filepath.Base(crioPackage().nvidia): string(files[crioPackage().nvidia]),
	} {
		if err := os.WriteFile(filepath.Join(dropIns, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dump := hosttest.Output(t, hosttest.LabProgram(t, "crio/crio"), "--config-dir", dropIns, "config")
	if e, err := readCRIODump([]byte(dump)); err != nil || e != (effective{Driver: Systemd, Network: host.CNIDir}) {
		t.Errorf("effective: %+v, %v:\n%s", e, err, dump)
	}
	_, runc, _ := strings.Cut(dump, "[crio.runtime.runtimes.runc]")
	for _, setting := range []string{`runtime_path = "/usr/libexec/crio/runc"`, `monitor_path = "/usr/libexec/crio/conmon"`, `runtime_root = "/run/crio/runc"`} {
		if !strings.Contains(runc, setting) {
			t.Errorf("not in effect for runc: %s", setting)
		}
	}
	for _, setting := range []string{
		`default_runtime = "runc"`,
		`pids_limit = 4096`,
		`pinns_path = "/usr/bin/pinns"`,
		`signature_policy = "` + crioPolicy + `"`,
		`[crio.runtime.runtimes.crun]`,
		`[crio.runtime.runtimes.nvidia]`,
	} {
		if !strings.Contains(dump, setting) {
			t.Errorf("not in effect: %s\n%s", setting, dump)
		}
	}
}

func TestFapolicydOfAPackage(t *testing.T) {
	_, m := hosttest.New(t)
	files, err := fapolicyd{m, crioPackage()}.files()
	if err != nil || len(files) != 1 || !strings.Contains(string(files[rulesFile]), "exe=/usr/bin/crio : dir=/opt/cni/bin/") {
		t.Errorf("%s, %v", files, err)
	}
}

func TestPinsOfAPackage(t *testing.T) {
	f, m := hosttest.New(t)
	f.Put(t, containerdPackage().unit, ours)
	f.Answers["/usr/bin/ctr"] = func(host.Cmd) ([]byte, error) { return []byte("a\n"), nil }
	if left, err := unpinned(t.Context(), m, []string{"a", "b"}); err != nil || !slices.Equal(left, []string{"b"}) {
		t.Errorf("%v, %v", left, err)
	}
}
