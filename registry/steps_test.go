package registry

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/registry/mirror"
	"airgap.dev/airgap/registry/trust"
)

// systemd is a fake host. restart stands for the unit.
type systemd struct {
	calls   []string
	enabled bool
	restart func()
}

func (*systemd) FS() fs.FS { return os.DirFS("/") }

func (s *systemd) Run(_ context.Context, cmd host.Cmd) ([]byte, error) {
	line := cmd.Name + " " + strings.Join(cmd.Args, " ")
	s.calls = append(s.calls, line)
	switch line {
	case "systemctl enable " + UnitName:
		s.enabled = true
	case "systemctl restart " + UnitName:
		s.restart()
	case "systemctl disable --now " + UnitName:
		s.enabled = false
	case "systemctl is-enabled --quiet " + UnitName:
		if !s.enabled {
			return nil, &host.CommandError{Argv: []string{line}, ExitCode: 1, Err: errors.New("disabled")}
		}
	case "systemctl daemon-reload":
	default:
		return nil, fmt.Errorf("unexpected command %s", line)
	}
	return nil, nil
}

// TestSteps runs all four steps on a temporary root. The second run changes nothing. After Undo, only
// the bundle remains.
func TestSteps(t *testing.T) {
	root := t.TempDir()
	f := bundletest.New(t)
	stick := f.Open(t)
	store := Store{Dir: filepath.Join(root, "store")}
	pki := trust.PKI{Dir: filepath.Join(root, "pki")}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	fake := &systemd{restart: func() {
		bundles, err := store.Open(&f.Key.PublicKey)
		must(t, err)
		go func() {
			stopped <- Serve(ctx, ServeOptions{Options: Options{Bundles: bundles, Log: discard()}, Listener: listener,
				Certificate: pki.CertificateFile(), Key: pki.KeyFile()})
		}()
	}}
	addr := listener.Addr().String()
	containerd, err := mirror.Own(false, filepath.Join(root, "certs.d"), []string{addr}, nil, pki.CAFile())
	must(t, err)
	steps := []step.Step{
		StoreStep(store, bundle.NewView(stick), []*ecdsa.PublicKey{&f.Key.PublicKey}, ui.Discard()),
		CertificatesStep(pki, []string{"10.1.2.3"}),
		ServiceStep(Service{Host: fake, OptionsFile: filepath.Join(root, "options"), Port: 5000, Addr: addr, CAFile: pki.CAFile(), Bundles: []*bundle.Bundle{stick}}),
		mirror.Step(containerd),
	}
	wantPlan(t, steps, "copy bundle test to "+store.Dir+"/test", "make the registry's CA: "+pki.CAFile(), "for 10.1.2.3, 127.0.0.1, localhost",
		"write "+filepath.Join(root, "options")+" (new)", "enable "+UnitName, "certs.d/_default/hosts.toml (new)")
	journal := step.OpenJournal(filepath.Join(t.TempDir(), "journal"))
	for run, want := range []step.Result{{Changed: 4}, {Unchanged: 4}} {
		got, err := step.Run(ctx, journal, steps, func(step.Event) {})
		if err != nil || got != want {
			t.Fatalf("run %d: %+v, %v, want %+v", run+1, got, err, want)
		}
	}
	if options, _ := os.ReadFile(filepath.Join(root, "options")); string(options) != "OPTIONS=\"--port 5000\"\n" {
		t.Errorf("options: %q", options)
	}
	cancel()
	must(t, <-stopped)
	for _, s := range steps {
		if s.Name != "store" {
			must(t, s.Undo(context.Background()))
		}
	}
	remaining, err := os.ReadDir(root)
	must(t, err)
	for _, e := range remaining {
		if entries, _ := os.ReadDir(filepath.Join(root, e.Name())); e.Name() != "store" && (!e.IsDir() || len(entries) > 0) {
			t.Errorf("remaining: %s %v", e.Name(), entries)
		}
	}
}

// wantPlan checks that the plan of the steps contains the words.
func wantPlan(t *testing.T, steps []step.Step, words ...string) {
	t.Helper()
	plan, err := step.Plan(t.Context(), steps)
	must(t, err)
	var lines []string
	for _, f := range plan {
		lines = append(lines, f.Changes...)
	}
	text := strings.Join(lines, "\n")
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("the plan does not contain %q:\n%s", w, text)
		}
	}
}

func TestServiceStepSaysWhy(t *testing.T) {
	pki := trust.PKI{Dir: t.TempDir()}
	must(t, pki.Ensure(nil, time.Now()))
	r := start(t) // serves no bundle
	fake := &systemd{restart: func() {}}
	s := Service{Host: fake, OptionsFile: filepath.Join(t.TempDir(), "options"), Addr: r.addr, CAFile: r.pki.CAFile(), Bundles: []*bundle.Bundle{bundletest.New(t).Open(t)}, Wait: time.Millisecond}
	err := ServiceStep(s).Run(context.Background())
	if err == nil || !strings.Contains(err.Error(), "does not serve bundle test") || !strings.Contains(err.Error(), "journalctl -u "+UnitName) {
		t.Errorf("got %v", err)
	}
	s.CAFile = pki.CAFile()
	if err := ServiceStep(s).Run(context.Background()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a registry with another CA was accepted: %v", err)
	}
}

func TestStore(t *testing.T) {
	f := bundletest.New(t)
	s := Store{Dir: filepath.Join(t.TempDir(), "store")}
	if names, err := s.List(); err != nil || len(names) > 0 {
		t.Errorf("missing store: %v, %v", names, err)
	}
	stick := f.Open(t)
	_, err := s.Import(context.Background(), stick, ui.Discard())
	must(t, err)
	if inStore, err := s.Has(stick, &f.Key.PublicKey); err != nil || !inStore {
		t.Errorf("after Import: %v, %v", inStore, err)
	}
	must(t, os.Truncate(filepath.Join(s.Dir, "test", "bundle.tar.001"), 5))
	if inStore, err := s.Has(stick, &f.Key.PublicKey); err != nil || inStore {
		t.Errorf("Has of a truncated bundle: %v, %v", inStore, err)
	}
	bundles, err := s.Open(&f.Key.PublicKey)
	if len(bundles) != 0 || err == nil || !strings.Contains(err.Error(), "bundle.tar.001") {
		t.Errorf("Open of a truncated bundle: %v, %v", bundles, err)
	}
	for _, bad := range []string{"", ".", "..", "../x", "a/b", ".hidden"} {
		if _, err := s.path(bad); err == nil {
			t.Errorf("a bundle named %q was accepted", bad)
		}
	}
}
