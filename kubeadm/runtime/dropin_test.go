package runtime

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
)

// dumps makes the real runtime print the effective configuration of the fake host.
func dumps(t *testing.T, f *hosttest.Fake, e engine, program string) {
	t.Helper()
	program = hosttest.LabProgram(t, program)
	f.Answers[host.BinDir+"/"+e.name] = func(c host.Cmd) ([]byte, error) {
		text := strings.ReplaceAll(f.Get(e.config), e.dropIns, filepath.Join(f.Root, e.dropIns))
		copied := filepath.Join(t.TempDir(), "config.toml")
		if err := errors.Join(os.WriteFile(copied, []byte(text), 0o644), os.MkdirAll(filepath.Join(f.Root, e.dropIns), 0o755)); err != nil {
			return nil, err
		}
		c.Name = program
		for i, arg := range c.Args {
			switch arg {
			case e.config:
				c.Args[i] = copied
			case e.dropIns:
				c.Args[i] = filepath.Join(f.Root, arg)
			}
		}
		return host.Local{}.Run(t.Context(), c)
	}
}

// withNVIDIA returns a host with a real runtime that gets the handler; only systemd is fake.
func withNVIDIA(t *testing.T, name string) (*hosttest.Fake, host.Machine, Options) {
	f, m := hosttest.New(t)
	o := options(t, "", Facts{Driver: Systemd})
	program := "containerd/containerd"
	switch name {
	case "containerd 1.7":
		o.Runtime.Version, program = "1.7.35", "containerd1/containerd"
	case "CRI-O":
		o = crioOptions(t, "", Facts{Driver: Systemd})
		program = "crio/crio"
		f.Put(t, o.Mirrors, "a registry\n")
		f.Put(t, crioEnv, "NO_PROXY=\n")
	}
	o.NVIDIA = true
	withRuntime(t, f, m, o.Runtime.engine())
	dumps(t, f, o.Runtime.engine(), program)
	return f, m, o
}

// TestNVIDIAHandler checks that the real runtimes have the handler and no other change.
func TestNVIDIAHandler(t *testing.T) {
	containers := "plugins.io.containerd.cri.v1.runtime.containerd."
	for name, want := range map[string]map[string]string{
		"containerd": {containers + "runtimes.nvidia.options.BinaryName": nvidiaProgram, containers + "runtimes.nvidia.options.SystemdCgroup": "true", containers + "default_runtime_name": "runc"},
		"containerd 1.7": {
			"plugins.io.containerd.grpc.v1.cri.containerd.runtimes.nvidia.options.BinaryName": nvidiaProgram,
			"plugins.io.containerd.grpc.v1.cri.containerd.runtimes.runc.options.BinaryName":   host.BinDir + "/runc",
			"plugins.io.containerd.grpc.v1.cri.enable_cdi":                                    "true", "plugins.io.containerd.grpc.v1.cri.sandbox_image": "registry.k8s.io/pause:3.10.2",
		},
		"CRI-O": {"crio.runtime.runtimes.nvidia.runtime_path": nvidiaProgram, "crio.runtime.runtimes.nvidia.monitor_path": host.BinDir + "/conmon",
			"crio.runtime.runtimes.runc.runtime_path": host.BinDir + "/runc"},
	} {
		t.Run(name, func(t *testing.T) {
			f, m, o := withNVIDIA(t, name)
			s, e := ServiceStep(m, o), o.Runtime.engine()
			hosttest.MustBeDone(t, s.Done, false)
			if err := s.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			hosttest.MustBeDone(t, s.Done, true)
			has, err := settings(t.Context(), m, e)
			if err != nil {
				t.Fatal(err)
			}
			for setting, value := range want {
				if has[setting] != value {
					t.Errorf("%s is %q, want %q", setting, has[setting], value)
				}
			}

			o.NVIDIA = false // the node has no GPU any longer
			without := ServiceStep(m, o)
			hosttest.MustBeDone(t, without.Done, false)
			if err := without.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if f.Has(e.nvidia) || len(f.Holding(t, nvidiaProgram)) > 0 {
				t.Error("the handler still exists")
			}
			hosttest.MustBeDone(t, without.Done, true)
		})
	}
}

// TestNVIDIAHandlerConflict checks that airgap removes its file and restarts nothing if a file of the
// site sets the same handler.
func TestNVIDIAHandlerConflict(t *testing.T) {
	f, m, o := withNVIDIA(t, "containerd")
	f.Put(t, containerdDropIns+"/99-nvidia.toml", "version = 3\n[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.nvidia]\nruntime_type = 'io.containerd.runc.v2'\n"+
		"[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.nvidia.options]\nBinaryName = '/usr/bin/nvidia-container-runtime.legacy'\n")
	err := ServiceStep(m, o).Run(t.Context())
	failed, is := errors.AsType[*host.Failure](err)
	if !is || !strings.Contains(err.Error(), `runtimes.nvidia.options.BinaryName would `) || !strings.Contains(failed.Next, containerdDropIns) {
		t.Errorf("got %v", err)
	}
	if f.Has(containerd().nvidia) || f.Ran("systemctl restart") > 0 {
		t.Errorf("airgap's file exists: %t, restarted %d times", f.Has(containerd().nvidia), f.Ran("systemctl restart"))
	}
}

// TestDropInReplacesAll shows why containerd 1.7 gets no drop-in: in the real containerd it would
// replace sandbox image, mirrors and cgroup driver.
func TestDropInReplacesAll(t *testing.T) {
	f, m, o := withNVIDIA(t, "containerd 1.7")
	o.NVIDIA = false
	files, err := containerdFiles(o)
	if err != nil {
		t.Fatal(err)
	}
	f.Put(t, containerdConfig, string(files[containerdConfig]))
	text, err := dropIn(map[string]any{"version": 2, "plugins": map[string]any{"io.containerd.grpc.v1.cri": nvidiaHandler(o)}})
	if err != nil {
		t.Fatal(err)
	}
	err = service{m, o}.add(t.Context(), containerd(), text)
	for _, setting := range []string{
		"cri.sandbox_image would change",
		"registry.config_path would change",
		"runtimes.runc.options.SystemdCgroup would change",
		`cri.image_pull_progress_timeout would change from "20s"`,
	} {
		if err == nil || !strings.Contains(err.Error(), setting) {
			t.Errorf("want %q, got %v", setting, err)
		}
	}
}

func TestNVIDIAHandlerUndone(t *testing.T) {
	f, m, o := withNVIDIA(t, "containerd")
	s := ServiceStep(m, o)
	if err := errors.Join(s.Run(t.Context()), ServiceStep(m, Options{}).Undo(t.Context())); err != nil {
		t.Fatal(err)
	}
	if f.Has(containerd().nvidia) || f.Has(containerdConfig) {
		t.Error("files remain after the undo")
	}
}
