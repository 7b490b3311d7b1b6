package runtime

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
)

func withContainerd(t *testing.T, f *hosttest.Fake, m host.Machine) {
	t.Helper()
	withRuntime(t, f, m, containerd())
}

// withRuntime makes systemctl start and stop a listener on the socket.
func withRuntime(t *testing.T, f *hosttest.Fake, m host.Machine, e engine) {
	t.Helper()
	var listener net.Listener
	stop := func() {
		if listener != nil {
			listener.Close()
			listener = nil
		}
	}
	t.Cleanup(stop)
	f.Answers["systemctl restart "+e.name] = func(host.Cmd) ([]byte, error) {
		stop()
		socket := m.Path(e.socket)
		err := os.MkdirAll(filepath.Dir(socket), 0o755)
		if err == nil {
			listener, err = net.Listen("unix", socket)
		}
		return nil, err
	}
	f.Answers[e.program()] = func(host.Cmd) ([]byte, error) { return os.ReadFile(m.Path(e.config)) } // the written file is effective
	f.Answers["systemctl disable --now "+e.name] = func(host.Cmd) ([]byte, error) { stop(); return nil, nil }
}

func TestRuntimeService(t *testing.T) {
	f, m := hosttest.New(t)
	withContainerd(t, f, m)
	s := ServiceStep(m, options(t, "", Facts{Driver: Systemd}))
	hosttest.MustBeDone(t, s.Done, false)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	hosttest.MustBeDone(t, s.Done, true)
	if got := f.Get(containerdConfig); !strings.HasPrefix(got, ours) || !strings.Contains(got, "SystemdCgroup = true") {
		t.Errorf("configuration:\n%s", got)
	}

	// A changed airgap.yaml: the step writes the file and restarts the runtime.
	changed := ServiceStep(m, options(t, labOverrides, Facts{Driver: Systemd}))
	hosttest.MustBeDone(t, changed.Done, false)
	if err := changed.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := f.Ran("systemctl restart containerd"); n != 2 {
		t.Errorf("restarted %d times, want 2", n)
	}
	hosttest.MustBeDone(t, changed.Done, true)

	if err := changed.Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f.Has(containerdConfig) || f.Has(containerd().unit) || answers(t.Context(), m, containerd()) {
		t.Error("files remain after the undo")
	}
	before := len(f.Calls)
	if err := changed.Undo(t.Context()); err != nil || len(f.Calls) != before {
		t.Errorf("the second undo: got %v, ran %v", err, f.Calls[before:])
	}
}

// TestRuntimeServiceInterrupted checks that Done detects an interruption between the write of the
// configuration and the restart.
func TestRuntimeServiceInterrupted(t *testing.T) {
	f, m := hosttest.New(t)
	withContainerd(t, f, m)
	if err := ServiceStep(m, options(t, "", Facts{Driver: Systemd})).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	changed := ServiceStep(m, options(t, labOverrides, Facts{Driver: Systemd}))
	files, err := containerdFiles(options(t, labOverrides, Facts{Driver: Systemd}))
	if err != nil {
		t.Fatal(err)
	}
	f.Put(t, containerdConfig, string(files[containerdConfig]))
	hosttest.MustBeDone(t, changed.Done, false)
}

// TestDropInReplacesOurs covers containerd 1.7, where a drop-in replaces the table of the plugin.
func TestDropInReplacesOurs(t *testing.T) {
	f, m := hosttest.New(t)
	withContainerd(t, f, m)
	f.Answers[host.BinDir+"/containerd"] = func(host.Cmd) ([]byte, error) {
		return []byte("version = 2\n[plugins.'io.containerd.grpc.v1.cri'.containerd]\ndefault_runtime_name = 'runc'\n" +
			"[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.runc.options]\nSystemdCgroup = false\n"), nil
	}
	s := ServiceStep(m, options(t, "", Facts{Driver: Systemd}))
	var failed *host.Failure
	if err := s.Run(t.Context()); !errors.As(err, &failed) || !strings.Contains(failed.Error(), "containerd uses cgroupfs") ||
		!strings.Contains(failed.Error(), `reads registries from ""`) || !strings.Contains(failed.Next, "/etc/containerd/conf.d") {
		t.Errorf("got %v", failed)
	}
	hosttest.MustBeDone(t, s.Done, false)
}

func TestRuntimeServiceExplains(t *testing.T) {
	f, m := hosttest.New(t)
	f.Fails("systemctl restart containerd", 1, "Job for containerd.service failed")
	f.Answers["journalctl -u containerd"] = func(host.Cmd) ([]byte, error) {
		return []byte("containerd: invalid plugin config\n"), nil
	}
	err := ServiceStep(m, options(t, "", Facts{Driver: Systemd})).Run(t.Context())
	for _, words := range []string{"start containerd", "Job for containerd.service failed", "invalid plugin config"} {
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("got %v, want %q", err, words)
		}
	}
}
