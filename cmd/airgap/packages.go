package main

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
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
	t, err := s.locked(stateDir)
	if err != nil {
		return t, err
	}
	t.BaseURL, t.CAFile = baseURL+"/rpm/"+t.OS+"/", caFile
	t.Keys, err = from.all(ctx, s.index, "rpm/"+t.OS+"/keys")
	return t, err
}

// locked is as much of the transaction as the lock alone tells: enough to ask
// which packages are missing, without a registry. On a server that was surveyed
// these are the packages found for it; on another one all that is not for the cards of others, but for what is
// there in another build and was not asked for by name.
func (s *site) locked(stateDir string) (rpm.Transaction, error) {
	t := rpm.Transaction{Host: host.Local{}, StateDir: stateDir, OS: s.index.Lock.OS, IfAbsent: map[rpm.NEVRA]bool{}}
	packages, surveyed, err := s.packages()
	if err != nil {
		return t, err
	}
	if t.Own, err = rpm.Brought(dnfDir); err != nil {
		return t, err
	}
	for _, p := range packages {
		n, err := rpm.ParseNEVRA(p.NEVRA)
		if err != nil {
			return t, err
		}
		t.IfAbsent[n] = !surveyed && !slices.Contains(p.NeededBy, rpm.InstallList)
		t.Packages = append(t.Packages, n)
	}
	return t, nil
}

// packages are those of the lock for this server, and whether they were found for it.
// A survey knows its server by the host name. Where that is not the node's, facts under
// the node's name come first: by it airgap.yaml says what the server is to be.
func (s *site) packages() (all []bundle.Package, surveyed bool, err error) {
	l, name := s.index.Lock, s.node.Name
	if !slices.Contains(l.Hosts, name) {
		if name, err = os.Hostname(); err != nil {
			return nil, false, fmt.Errorf("find the packages of this host: %w", err)
		}
	}
	return l.PackagesOf(name), slices.Contains(l.Hosts, name), nil
}

// packagesStep installs the lock's packages from the registry over TLS. The
// transaction is made when its turn has come, for the repository's keys are read
// then; whether it holds needs no registry, and taking it back only what it
// wrote down.
func (s *site) packagesStep(from source, addr string) step.Step {
	return s.packagesOf(from, addr, func(rpm.NEVRA) bool { return true })
}

// packagesOf installs those of the lock's packages that are wanted.
func (s *site) packagesOf(from source, addr string, wanted func(rpm.NEVRA) bool) step.Step {
	others := func(p rpm.NEVRA) bool { return !wanted(p) }
	t, err := s.locked(dnfDir)
	t.Log, t.Packages = dnfLog, slices.DeleteFunc(t.Packages, others)
	made := rpm.PackagesStep(t)
	made.Title = "Install the packages with dnf"
	if err != nil {
		made.Done = func(context.Context) (bool, error) { return false, err }
	}
	made.Run = func(ctx context.Context) error {
		t, err := s.transaction(ctx, from, dnfDir, "https://"+addr, registry.PKI{Dir: pkiDir}.CAFile())
		if err != nil {
			return err
		}
		t.Log, t.Packages = dnfLog, slices.DeleteFunc(t.Packages, others)
		return t.Run(ctx)
	}
	return made
}

// dryRunFrom resolves the transaction against the stick, before anything is
// copied: dnf reads it through a server of its own on the loopback. Metadata
// and packages are signed, so plain http is enough there.
func (s *site) dryRunFrom(v *bundle.View) func(context.Context) error {
	return func(ctx context.Context) error {
		base, stop, err := serveLoopback(ctx, v.FS())
		if err != nil {
			return err
		}
		defer stop()
		return s.dryRun(ctx, fromView(v), base, "")
	}
}

// dryRunAt resolves the transaction against the registry that is to be joined.
func (s *site) dryRunAt(h *hub) func(context.Context) error {
	return func(ctx context.Context) error {
		dir, remove, err := scratch("ca")
		if err != nil {
			return err
		}
		defer remove()
		ca := filepath.Join(dir, "ca.crt")
		if err := os.WriteFile(ca, h.ca, 0o600); err != nil {
			return err
		}
		return s.dryRun(ctx, h.open, h.url(""), ca)
	}
}

// dryRun keeps dnf's cache and configuration in a directory that is gone
// afterwards: nothing on the host changes.
func (s *site) dryRun(ctx context.Context, from source, baseURL, caFile string) error {
	dir, remove, err := scratch("dnf")
	if err != nil {
		return err
	}
	defer remove()
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
