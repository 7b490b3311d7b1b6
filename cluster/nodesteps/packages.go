package nodesteps

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path"
	"slices"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/dnf"
	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/nevra"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/registry/trust"
)

// transaction is dnf's job on this host: exactly the packages of the lock,
// from baseURL/rpm/OS.
func transaction(ctx context.Context, s *site.Site, from Source, stateDir, baseURL, caFile string) (dnf.Transaction, error) {
	t, err := Locked(s, stateDir)
	if err != nil {
		return t, err
	}
	t.BaseURL, t.CAFile = baseURL+"/rpm/"+t.OS+"/", caFile
	t.Keys, err = from.All(ctx, s.Index, "rpm/"+t.OS+"/keys")
	return t, err
}

// Locked is the part of the transaction that the lock determines: enough to find
// missing packages, without a registry. On a surveyed server it has the packages
// found for it. On another server it has all packages except those for other hosts' GPUs, and except
// packages that are installed in another build and were not requested by name.
func Locked(s *site.Site, stateDir string) (dnf.Transaction, error) {
	t := dnf.Transaction{Host: host.Local{}, StateDir: stateDir, OS: s.Index.Lock.OS, IfAbsent: map[nevra.NEVRA]bool{}}
	packages, surveyed, err := Packages(s)
	if err != nil {
		return t, err
	}
	if t.Own, err = dnf.Provided(site.DnfDir); err != nil {
		return t, err
	}
	for _, p := range packages {
		t.IfAbsent[p.NEVRA.NEVRA] = !surveyed && !slices.Contains(p.NeededBy, rpm.InstallList)
		t.Packages = append(t.Packages, p.NEVRA.NEVRA)
	}
	return t, nil
}

// Packages returns the lock's packages for this server, and whether they were found for it.
// A survey identifies its server by the host name. If that differs from the node's name, facts under
// the node's name come first: airgap.yaml uses the node's name.
func Packages(s *site.Site) (all []bundle.Package, surveyed bool, err error) {
	l, name := s.Index.Lock, s.Node.Name
	if !slices.Contains(l.Hosts, name) {
		if name, err = os.Hostname(); err != nil {
			return nil, false, fmt.Errorf("find the packages of this host: %w", err)
		}
	}
	return l.PackagesOf(name), slices.Contains(l.Hosts, name), nil
}

// PackagesOf installs the wanted packages of the lock, nil for all, from the registry over
// TLS. The transaction is built when it runs, since it reads the repository's keys then. Its
// postcondition needs no registry, and its undo needs only its record.
func PackagesOf(s *site.Site, from Source, addr string, wanted func(nevra.NEVRA) bool) (step.Step, error) {
	others := func(p nevra.NEVRA) bool { return wanted != nil && !wanted(p) }
	t, err := Locked(s, site.DnfDir)
	t.Log, t.Packages = site.DnfLog, slices.DeleteFunc(t.Packages, others)
	made := dnf.PackagesStep(t)
	made.Title = "Install the packages with dnf"
	made.Run = func(ctx context.Context) error {
		t, err := transaction(ctx, s, from, site.DnfDir, "https://"+addr, trust.PKI{Dir: site.PKIDir}.CAFile())
		if err != nil {
			return err
		}
		t.Log, t.Packages = site.DnfLog, slices.DeleteFunc(t.Packages, others)
		return t.Run(ctx)
	}
	return made, err
}

// DryRunFrom resolves the transaction against the stick, before anything is
// copied: dnf reads it through a separate server on the loopback. Metadata
// and packages are signed, so plain http is enough there.
func DryRunFrom(s *site.Site, v *bundle.View) func(context.Context) error {
	return func(ctx context.Context) error {
		base, stop, err := serveLoopback(ctx, v.FS())
		if err != nil {
			return err
		}
		defer stop()
		return DryRun(ctx, s, FromView(v), base, "")
	}
}

// DryRun compares dnf's transaction with the lock, and lets rpm try the packages. It
// keeps dnf's cache and configuration in a directory that is gone afterwards: nothing
// on the host changes.
func DryRun(ctx context.Context, s *site.Site, from Source, baseURL, caFile string) error {
	return dryRun(ctx, host.Local{}, "", s, from, baseURL, caFile)
}

// dryRun is DryRun for a host whose packages are below root.
func dryRun(ctx context.Context, on host.Host, root string, s *site.Site, from Source, baseURL, caFile string) error {
	dir, remove, err := site.Scratch("dnf")
	if err != nil {
		return err
	}
	defer remove()
	t, err := transaction(ctx, s, from, dir, baseURL, caFile)
	if err != nil {
		return err
	}
	t.Host, t.Root = on, root
	missing, err := t.Check(ctx)
	if err != nil {
		return err
	}
	open := func(ctx context.Context, fileName string) (io.ReadCloser, error) {
		return from(ctx, path.Join("rpm", t.OS, rpm.PackagesDir, fileName))
	}
	return t.Trial(ctx, open, missing)
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
