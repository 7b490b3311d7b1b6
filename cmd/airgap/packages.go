package main

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/registry"
)

// transaction is dnf's job on this host: exactly the packages of the lock,
// from baseURL/rpm/OS.
func (s *site) transaction(ctx context.Context, from source, stateDir, baseURL, caFile string) (rpm.Transaction, error) {
	target := s.index.Lock.OS
	keys, err := from.all(ctx, s.index, "rpm/"+target+"/keys")
	if err != nil {
		return rpm.Transaction{}, err
	}
	t := rpm.Transaction{
		Host: host.Local{}, StateDir: stateDir, OS: target, BaseURL: baseURL + "/rpm/" + target + "/", CAFile: caFile, Keys: keys,
	}
	for _, p := range s.index.Lock.Packages {
		n, err := rpm.ParseNEVRA(p.NEVRA)
		if err != nil {
			return t, err
		}
		t.Packages = append(t.Packages, n)
	}
	return t, nil
}

// packagesStep installs the lock's packages from the registry over TLS. The
// transaction is made when its turn has come, for the repository's keys are read
// then; taking it back needs no registry, only what it wrote down.
func (s *site) packagesStep(from source) step.Step {
	build := func(ctx context.Context) (step.Step, error) {
		t, err := s.transaction(ctx, from, dnfDir, "https://"+s.registryAddr(), registry.PKI{Dir: pkiDir}.CAFile())
		t.Log = dnfLog
		return rpm.PackagesStep(t), err
	}
	return step.Step{
		Name: "packages", Title: "Install the packages with dnf",
		Done: func(ctx context.Context) (bool, error) {
			made, err := build(ctx)
			if err != nil {
				return false, err
			}
			return made.Done(ctx)
		},
		Run: func(ctx context.Context) error {
			made, err := build(ctx)
			if err != nil {
				return err
			}
			return made.Run(ctx)
		},
		Undo: rpm.Transaction{Host: host.Local{}, StateDir: dnfDir, Log: dnfLog}.Undo,
	}
}

// dryRunFrom resolves the transaction against the stick, before anything is
// copied: dnf reads it through a server of its own on the loopback. Metadata
// and packages are signed, so plain http is enough there.
func (s *site) dryRunFrom(b *bundle.Bundle) func(context.Context) error {
	return func(ctx context.Context) error {
		base, stop, err := serveLoopback(ctx, b.FS())
		if err != nil {
			return err
		}
		defer stop()
		return s.dryRun(ctx, fromBundle(b), base, "")
	}
}

// dryRunAt resolves the transaction against the registry that is to be joined.
func (s *site) dryRunAt(h *hub) func(context.Context) error {
	return func(ctx context.Context) error {
		ca, err := os.CreateTemp("", "airgap-ca-*.crt")
		if err != nil {
			return err
		}
		defer os.Remove(ca.Name())
		defer ca.Close()
		if _, err := ca.Write(h.ca); err != nil {
			return err
		}
		return s.dryRun(ctx, h.open, h.url(""), ca.Name())
	}
}

// dryRun keeps dnf's cache and configuration in a directory that is gone
// afterwards: nothing on the host changes.
func (s *site) dryRun(ctx context.Context, from source, baseURL, caFile string) error {
	dir, err := os.MkdirTemp("", "airgap-dnf-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	t, err := s.transaction(ctx, from, dir, baseURL, caFile)
	if err != nil {
		return err
	}
	_, err = t.Check(ctx)
	return err
}

func serveLoopback(ctx context.Context, files fs.FS) (base string, stop func(), err error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("serve the stick to dnf: %w", err)
	}
	server := &http.Server{Handler: http.FileServerFS(files), ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l) // ends with Close
	}()
	return "http://" + l.Addr().String(), func() { server.Close(); <-done }, nil
}
