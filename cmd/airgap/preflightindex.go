package main

import (
	"context"
	"errors"
	"os"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/registry"
)

// preflightByIndex judges this host by the signed index alone. It says all that
// is wanted of a host; only for dnf's dry run there has to be a repository.
func (a *app) preflightByIndex(ctx context.Context, dir string, values []string, node string, choice preflight.Choice) error {
	t, err := site.TrustedKeys(values, dir)
	if err != nil {
		return err
	}
	signed, err := bundle.ReadSigned(dir, t.Keys...)
	if errors.Is(err, os.ErrNotExist) {
		return advice.Add(err, "name the directory that holds %v", bundle.IndexFiles())
	}
	if err != nil {
		return t.Explain(err)
	}
	s, err := site.New(signed.Index, node)
	if err != nil {
		return err
	}
	stored, err := registry.Store{Dir: site.StoreDir}.HasSums(signed.Files[bundle.SumsName])
	if err != nil {
		return err
	}
	report, err := hostcheck.Judge(ctx, s, choice, stored, nil)
	if err != nil {
		return err
	}
	return a.showPreflight(report)
}
