package kubeadm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"gopkg.in/yaml.v3"
)

func options(t *testing.T, overrides string, f Facts) ContainerdOptions {
	t.Helper()
	var r Runtime
	if err := yaml.Unmarshal([]byte(overrides), &r.Overrides); err != nil {
		t.Fatal(err)
	}
	r.Default()
	images, err := Images("1.36.3")
	if err != nil {
		t.Fatal(err)
	}
	sandbox, err := Sandbox("1.36.3")
	if err != nil {
		t.Fatal(err)
	}
	pinned := append(images, "ghcr.io/flannel-io/flannel:v0.28.4")
	return ContainerdOptions{Runtime: r, Sandbox: sandbox, Pinned: pinned, Facts: f}
}

const labOverrides = `{plugins: {io.containerd.cri.v1.runtime: {restrict_oom_score_adj: true}}}`

func TestContainerdConfig(t *testing.T) {
	for name, tc := range map[string]struct {
		overrides string
		facts     Facts
	}{
		"containerd-systemd.toml": {"", Facts{Driver: Systemd, SELinux: true}},
		"containerd-lab.toml":     {labOverrides, Facts{Driver: Cgroupfs}},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, tc.overrides, tc.facts)
			got, err := ContainerdConfig(o)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name, got)
			var parsed map[string]any
			if err := toml.Unmarshal(got, &parsed); err != nil {
				t.Fatal(err)
			}
			if driver, err := driverInDump(got); err != nil || driver != tc.facts.Driver {
				t.Errorf("driver reads back as %q, %v", driver, err)
			}
			takenByContainerd(t, got, o)
		})
	}
}

// takenByContainerd asks the real containerd what it makes of the file.
func takenByContainerd(t *testing.T, config []byte, o ContainerdOptions) {
	program := labProgram(t, "containerd/containerd")
	file := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(file, config, 0o644); err != nil {
		t.Fatal(err)
	}
	dump := output(t, program, "--config", file, "config", "dump")
	if driver, err := driverInDump([]byte(dump)); err != nil || driver != o.Facts.Driver {
		t.Errorf("containerd uses driver %q, %v", driver, err)
	}
	var effective struct {
		Plugins struct {
			Images struct {
				Pinned   map[string]string `toml:"pinned_images"`
				Timeout  string            `toml:"image_pull_progress_timeout"`
				Sync     bool              `toml:"image_pull_with_sync_fs"`
				Local    bool              `toml:"use_local_image_pull"`
				Registry struct {
					ConfigPath string `toml:"config_path"`
				} `toml:"registry"`
			} `toml:"io.containerd.cri.v1.images"`
			Runtime struct {
				RestrictOOM bool `toml:"restrict_oom_score_adj"`
				SELinux     bool `toml:"enable_selinux"`
			} `toml:"io.containerd.cri.v1.runtime"`
		} `toml:"plugins"`
	}
	if err := toml.Unmarshal([]byte(dump), &effective); err != nil {
		t.Fatal(err)
	}
	images, runtime := effective.Plugins.Images, effective.Plugins.Runtime
	if images.Registry.ConfigPath != "/etc/containerd/certs.d" || images.Pinned["sandbox"] != o.Sandbox || images.Pinned["flannel"] == "" ||
		images.Timeout != pullProgressTimeout || !images.Sync || !images.Local {
		t.Errorf("containerd has images %+v", images)
	}
	if runtime.RestrictOOM != (len(o.Runtime.Overrides) > 0) || runtime.SELinux != o.Facts.SELinux {
		t.Errorf("containerd has runtime %+v", runtime)
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
	for _, line := range []string{"ExecStart=" + BinDir + "/containerd --config " + containerdConfig, "Environment=PATH=" + BinDir + ":", "Delegate=yes", "KillMode=process"} {
		if !strings.Contains(unitText, "\n"+line) {
			t.Errorf("the unit lacks %q", line)
		}
	}
}
