package kubeadm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
)

// appliedFile holds the hash of the files that the running containerd was
// started with, so that a cut between writing and restarting is noticed.
const appliedFile = stateDir + "/runtime.applied"

// RuntimeService configures containerd, starts it, and waits for its socket.
func RuntimeService(m Machine, o ContainerdOptions) step.Step {
	s := service{m: m, options: o}
	return step.Step{
		Name: "runtime", Title: "Start containerd",
		Done: s.done, Plan: s.plan, Run: s.start, Undo: s.stop,
	}
}

type service struct {
	m       Machine
	options ContainerdOptions
}

// files are the service's files by path, and one hash over all that a running
// containerd depends on.
func (s service) files() (map[string][]byte, string, error) {
	config, err := ContainerdConfig(s.options)
	if err != nil {
		return nil, "", err
	}
	unit := []byte(ours + unitText)
	hash := sha256.New()
	fmt.Fprintf(hash, "%s\n%s\n%s\n%s\n", s.options.Runtime.Version, s.options.Runtime.RuncVersion, config, unit)
	return map[string][]byte{containerdConfig: config, containerdUnit: unit}, hex.EncodeToString(hash.Sum(nil)) + "\n", nil
}

func (s service) done(ctx context.Context) (bool, error) {
	files, hash, err := s.files()
	if err != nil {
		return false, err
	}
	files[appliedFile] = []byte(hash)
	for name, want := range files {
		if holds, err := host.Holds(s.m.path(name), want, 0o644); err != nil || !holds {
			return false, err
		}
	}
	runs, err := s.m.unitRuns(ctx, "containerd")
	return runs && s.m.answers(ctx), err
}

func (s service) start(ctx context.Context) error {
	if err := s.m.refuseForeignRuntime(); err != nil {
		return err
	}
	files, hash, err := s.files()
	if err != nil {
		return err
	}
	for name, data := range files {
		if err := host.WriteFile(s.m.path(name), data, 0o644); err != nil {
			return err
		}
	}
	for _, args := range [][]string{{"daemon-reload"}, {"enable", "containerd"}, {"restart", "containerd"}} {
		if err := s.m.run(ctx, "systemctl", args...); err != nil {
			return s.m.explain(ctx, Failure{What: "start containerd", Err: err, unit: "containerd"})
		}
	}
	if err := s.m.awaitSocket(ctx, 30*time.Second); err != nil {
		return s.m.explain(ctx, Failure{What: "start containerd", Err: err, unit: "containerd"})
	}
	return host.WriteFile(s.m.path(appliedFile), []byte(hash), 0o644)
}

func (s service) stop(ctx context.Context) error {
	// The unit may be all that was done: it need not have run.
	unit := s.m.ours(containerdUnit)
	if unit {
		if err := s.m.run(ctx, "systemctl", "disable", "--now", "containerd"); err != nil {
			return fmt.Errorf("stop containerd: %w", err)
		}
	}
	for _, name := range []string{containerdUnit, containerdConfig} {
		if _, err := os.Stat(s.m.path(name)); err == nil && !s.m.ours(name) {
			continue
		}
		if err := host.Remove(s.m.path(name)); err != nil {
			return err
		}
	}
	if err := host.Remove(s.m.path(appliedFile)); err != nil {
		return err
	}
	if !unit {
		return nil
	}
	return s.m.run(ctx, "systemctl", "daemon-reload")
}

// answers reports whether somebody listens on the runtime's socket.
func (m Machine) answers(ctx context.Context) bool {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", m.path(CRISocket))
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

func (m Machine) awaitSocket(ctx context.Context, atMost time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	for !m.answers(ctx) {
		select {
		case <-ctx.Done():
			return errors.New("nobody listens on " + CRISocket)
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil
}
