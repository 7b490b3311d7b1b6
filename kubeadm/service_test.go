package kubeadm

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host"
)

func withContainerd(t *testing.T, f *fakeHost, m Machine) {
	t.Helper()
	withRuntime(t, f, m, containerd())
}

// withRuntime makes systemctl start and stop a listener on the socket.
func withRuntime(t *testing.T, f *fakeHost, m Machine, e engine) {
	t.Helper()
	var listener net.Listener
	stop := func() {
		if listener != nil {
			listener.Close()
			listener = nil
		}
	}
	t.Cleanup(stop)
	f.answers["systemctl restart "+e.name] = func(host.Cmd) ([]byte, error) {
		stop()
		socket := m.path(e.socket)
		err := os.MkdirAll(filepath.Dir(socket), 0o755)
		if err == nil {
			listener, err = net.Listen("unix", socket)
		}
		return nil, err
	}
	f.answers[e.program()] = func(host.Cmd) ([]byte, error) { return os.ReadFile(m.path(e.config)) } // what is in force is what we wrote
	f.answers["systemctl disable --now "+e.name] = func(host.Cmd) ([]byte, error) { stop(); return nil, nil }
}

func TestRuntimeService(t *testing.T) {
	f, m := newFake(t)
	withContainerd(t, f, m)
	s := RuntimeService(m, options(t, "", Facts{Driver: Systemd}))
	mustHold(t, s.Done, false)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustHold(t, s.Done, true)
	if got := f.get(containerdConfig); !strings.HasPrefix(got, ours) || !strings.Contains(got, "SystemdCgroup = true") {
		t.Errorf("configuration:\n%s", got)
	}

	// A changed airgap.yaml: written, and the running one restarted.
	changed := RuntimeService(m, options(t, labOverrides, Facts{Driver: Systemd}))
	mustHold(t, changed.Done, false)
	if err := changed.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := f.ran("systemctl restart containerd"); n != 2 {
		t.Errorf("restarted %d times, want 2", n)
	}
	mustHold(t, changed.Done, true)

	if err := changed.Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f.has(containerdConfig) || f.has(containerd().unit) || m.answers(t.Context(), containerd()) {
		t.Error("undo left something")
	}
	before := len(f.calls)
	if err := changed.Undo(t.Context()); err != nil || len(f.calls) != before {
		t.Errorf("a second undo did something: %v %v", err, f.calls[before:])
	}
}

// A cut between writing the configuration and restarting must be noticed.
func TestRuntimeServiceCutBeforeRestart(t *testing.T) {
	f, m := newFake(t)
	withContainerd(t, f, m)
	if err := RuntimeService(m, options(t, "", Facts{Driver: Systemd})).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	changed := RuntimeService(m, options(t, labOverrides, Facts{Driver: Systemd}))
	files, err := containerdFiles(options(t, labOverrides, Facts{Driver: Systemd}))
	if err != nil {
		t.Fatal(err)
	}
	f.put(t, containerdConfig, string(files[containerdConfig]))
	mustHold(t, changed.Done, false)
}

// TestDropInReplacesOurs is what containerd 1.7 makes of a drop-in for the same plug-in.
func TestDropInReplacesOurs(t *testing.T) {
	f, m := newFake(t)
	withContainerd(t, f, m)
	f.answers[BinDir+"/containerd"] = func(host.Cmd) ([]byte, error) {
		return []byte("version = 2\n[plugins.'io.containerd.grpc.v1.cri'.containerd]\ndefault_runtime_name = 'runc'\n[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.runc.options]\nSystemdCgroup = false\n"), nil
	}
	s := RuntimeService(m, options(t, "", Facts{Driver: Systemd}))
	var failed *Failure
	if err := s.Run(t.Context()); !errors.As(err, &failed) || !strings.Contains(failed.Error(), "containerd uses cgroupfs") ||
		!strings.Contains(failed.Error(), `looks for registries in ""`) || !strings.Contains(failed.Next, "/etc/containerd/conf.d") {
		t.Errorf("got %v", failed)
	}
	mustHold(t, s.Done, false)
}

func TestRuntimeServiceExplains(t *testing.T) {
	f, m := newFake(t)
	f.fails("systemctl restart containerd", 1, "Job for containerd.service failed")
	f.answers["journalctl -u containerd"] = func(host.Cmd) ([]byte, error) {
		return []byte("containerd: invalid plugin config\n"), nil
	}
	err := RuntimeService(m, options(t, "", Facts{Driver: Systemd})).Run(t.Context())
	for _, words := range []string{"start containerd", "Job for containerd.service failed", "invalid plugin config"} {
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("got %v, want it to say %q", err, words)
		}
	}
}
