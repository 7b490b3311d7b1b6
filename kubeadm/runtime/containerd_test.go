package runtime

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"gopkg.in/yaml.v3"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/kubeadm/release"
)

func options(t *testing.T, overrides string, f Facts) Options {
	t.Helper()
	var r Config
	if err := yaml.Unmarshal([]byte(overrides), &r.Overrides); err != nil {
		t.Fatal(err)
	}
	r.Default("1.36.3")
	images, err := release.Images("1.36.3")
	if err != nil {
		t.Fatal(err)
	}
	sandbox, err := release.Sandbox(images)
	if err != nil {
		t.Fatal(err)
	}
	pinned := append(images, "ghcr.io/flannel-io/flannel:v0.28.4")
	return Options{Runtime: r, Sandbox: sandbox, Pinned: pinned, Facts: f}
}

const labOverrides = `{plugins: {io.containerd.cri.v1.runtime: {restrict_oom_score_adj: true}}}`

func TestContainerdConfig(t *testing.T) {
	for name, tc := range map[string]struct {
		overrides string
		facts     Facts
		version   string // "" for the default
	}{
		"containerd-systemd.toml": {"", Facts{Driver: Systemd, SELinux: true}, ""},
		"containerd-lab.toml":     {labOverrides, Facts{Driver: Cgroupfs}, ""},
		"containerd-1.7.toml":     {`{plugins: {io.containerd.grpc.v1.cri: {restrict_oom_score_adj: true}}}`, Facts{Driver: Systemd, SELinux: true}, "1.7.35"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, tc.overrides, tc.facts)
			o.Runtime.Version = cmp.Or(tc.version, o.Runtime.Version)
			files, err := containerdFiles(o)
			if err != nil {
				t.Fatal(err)
			}
			got := files[containerdConfig]
			hosttest.Golden(t, name, got)
			var parsed map[string]any
			if err := toml.Unmarshal(got, &parsed); err != nil {
				t.Fatal(err)
			}
			if e, err := readContainerdDump(got); err != nil || e.Driver != tc.facts.Driver || e.Mirrors != certsDir {
				t.Errorf("parsed as %+v, %v", e, err)
			}
			takenByContainerd(t, got, o)
		})
	}
}

// takenByContainerd checks the effective configuration with the real containerd of that minor version.
func takenByContainerd(t *testing.T, config []byte, o Options) {
	program, images, runtime := "containerd/containerd", "io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime"
	if o.Runtime.configVersion() == 2 {
		program, images, runtime = "containerd1/containerd", "io.containerd.grpc.v1.cri", "io.containerd.grpc.v1.cri"
	}
	file := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(file, config, 0o644); err != nil {
		t.Fatal(err)
	}
	dump := hosttest.Output(t, hosttest.LabProgram(t, program), "--config", file, "config", "dump")
	if e, err := readContainerdDump([]byte(dump)); err != nil || e.Driver != o.Facts.Driver || e.Mirrors != certsDir {
		t.Errorf("effective: %+v, %v", e, err)
	}
	var all struct {
		Plugins map[string]struct {
			Pinned      map[string]string `toml:"pinned_images"`
			Sandbox     string            `toml:"sandbox_image"`
			Timeout     string            `toml:"image_pull_progress_timeout"`
			Sync        bool              `toml:"image_pull_with_sync_fs"`
			Local       bool              `toml:"use_local_image_pull"`
			RestrictOOM bool              `toml:"restrict_oom_score_adj"`
			SELinux     bool              `toml:"enable_selinux"`
		}
	}
	if err := toml.Unmarshal([]byte(dump), &all); err != nil {
		t.Fatal(err)
	}
	i, r := all.Plugins[images], all.Plugins[runtime]
	if i.Timeout != pullProgressTimeout || !i.Sync || o.Runtime.configVersion() > 2 && (!i.Local || i.Pinned["flannel"] == "") {
		t.Errorf("effective images settings: %+v", i)
	}
	if cmp.Or(i.Sandbox, i.Pinned["sandbox"]) != o.Sandbox {
		t.Errorf("effective sandbox image: %q, %q", i.Sandbox, i.Pinned["sandbox"])
	}
	if r.RestrictOOM != (len(o.Runtime.Overrides) > 0) || r.SELinux != o.Facts.SELinux {
		t.Errorf("effective runtime settings: %+v", r)
	}
}

func TestPinsKeepsEveryImage(t *testing.T) {
	got := pins("r/pause:3", []string{"r/pause:3", "a/flannel:1", "b/flannel:1", "r:5000/proxy@sha256:00"})
	want := map[string]any{"sandbox": "r/pause:3", "flannel": "a/flannel:1", "flannel-2": "b/flannel:1", "proxy": "r:5000/proxy@sha256:00"}
	if len(got) != len(want) {
		t.Fatalf("got %v", got)
	}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s is %v, want %v", k, got[k], v)
		}
	}
}

func TestUnitUsesOurPrograms(t *testing.T) {
	for _, line := range []string{"ExecStart=" + host.BinDir + "/containerd --config " + containerdConfig, "Environment=PATH=" + host.BinDir + ":", "Delegate=yes", "KillMode=process"} {
		if !strings.Contains(containerd().unitText, "\n"+line) {
			t.Errorf("the unit has no line %q", line)
		}
	}
}
