package join

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/dryrun"
	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/pki"
	"airgap.dev/airgap/registry/trust"
)

// caName is the file with the registry's CA among the files of DryRunByIndex.
const caName = "ca.crt"

// errNeedsRegistry is the reason of a control-plane host without a dry run.
var errNeedsRegistry = errors.New("the changes of a control-plane host are only known when the registry of the first host serves the bundle")

// DryRunByIndex is DryRun with the signed index in dir instead of the registry, before the first host has one. Changes that
// only the registry knows are not in it.
func DryRunByIndex(ctx context.Context, o Options, dir string) (dryrun.Plan, error) {
	if err := hostcheck.MustBeRoot("join"); err != nil {
		return dryrun.Plan{}, err
	}
	if err := pki.RefuseDuringCARotation(site.ThisMachine().Machine, "join"); err != nil {
		return dryrun.Plan{}, err
	}
	s, h, err := readIndexIn(dir, o)
	if err != nil {
		return dryrun.Plan{}, err
	}
	if s.ServesRegistry() {
		return dryrun.Plan{}, advice.Add(errNeedsRegistry, "run airgap install on the first host; then use --dry-run")
	}
	if err := notBehind(ctx, s); err != nil {
		return dryrun.Plan{}, err
	}
	return dryrun.Run(ctx, s, o.Console, dryrun.Command{
		Command: "join", Skip: o.Skip,
		Steps: func() ([]step.Step, error) { return WorkerSteps(s, h, &Admission{}, UpgradePart{}, ui.Discard()) },
	})
}

// Question returns the arguments and files for airgap join --dry-run on another host. The host asks the registry of this
// host if it serves the bundle; otherwise it gets the signed index.
func Question(s *site.Site, b *bundle.Bundle) (args []string, files map[string][]byte, err error) {
	signed, err := SignedFiles(b)
	if err != nil {
		return nil, nil, err
	}
	how, noCA := CommandAt(s, "join")
	if served, err := site.AllMatch(site.JoinDir, signed); noCA == nil && err == nil && served {
		return append(strings.Fields(how)[1:], "--dry-run"), nil, nil
	}
	ca, err := os.ReadFile(trust.PKI{Dir: site.PKIDir}.CAFile())
	switch {
	case err == nil:
		signed[caName] = ca
	case !errors.Is(err, fs.ErrNotExist):
		return nil, nil, fmt.Errorf("read the registry's CA: %w", err)
	}
	return append([]string{"join", "--dry-run", "--index", "."}, RequireFlags(s.Required)...), signed, nil
}

// readIndexIn reads the signed index in a directory. It returns a server without a connection.
func readIndexIn(dir string, o Options) (*site.Site, *Server, error) {
	if err := site.CheckDir(dir); err != nil {
		return nil, nil, err
	}
	t, err := site.TrustedKeys(o.Keys, dir)
	if err != nil {
		return nil, nil, err
	}
	signed, err := bundle.ReadSigned(dir, t.Keys...)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, advice.Add(err, "give the directory that contains %v", bundle.IndexFiles())
	}
	if err != nil {
		return nil, nil, t.Explain(err)
	}
	if err := t.Approve(signed.Index, signed.Files); err != nil {
		return nil, nil, err
	}
	s, err := site.New(signed.Index, o.Node)
	if err != nil {
		return nil, nil, err
	}
	ca, err := os.ReadFile(filepath.Join(dir, caName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("read the registry's CA: %w", err)
	}
	s = s.With(site.Given{Required: t.Required})
	return s, &Server{Addr: s.RegistryAddr(), CA: ca, Trusted: t.Keys, Required: t.Required, Index: signed.Index, Signed: signed.Files}, nil
}
