package hostcheck

import (
	"context"
	"errors"
	"os"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/nodesteps"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/registry"
)

// Options are the options of ByBundle and ByIndex.
type Options struct {
	Dir    string   // of the bundle
	Keys   []string // of --require-key
	Node   string   // name of this host in airgap.yaml; "": found by its addresses
	Choice preflight.Choice
	Say    func(format string, args ...any) // receives warnings; nil: nothing does
}

// ByBundle runs the preflight checks of this host with a bundle. If the host does not pass, the error is a
// preflight.ReportError. For a delta, a host that will join does not need the base: its packages come from the
// registry.
func ByBundle(ctx context.Context, o Options) (preflight.Report, error) {
	b, t, err := site.Open(o.Dir, o.Keys)
	if err != nil {
		return preflight.Report{}, err
	}
	defer b.Close()
	if o.Say != nil {
		site.WarnOfAltered(b, o.Say)
	}
	s, err := site.Fresh(b.Index(), o.Node)
	if err != nil {
		return preflight.Report{}, err
	}
	if s, err = AsMeasured(ctx, s, false, site.MeasuredFile); err != nil {
		return preflight.Report{}, err
	}
	s = s.With(site.Given{Medium: host.DevicesOf(o.Dir)})
	store := registry.Store{Dir: site.StoreDir}
	stored, err := store.Has(b, t.Keys...)
	if err != nil {
		return preflight.Report{}, err
	}
	v, err := store.View(b, t.Keys...)
	joins := s.Node.Name != s.Config.Master().Name
	var dry func(context.Context) error
	switch {
	case err == nil:
		defer v.Close()
		dry = nodesteps.DryRunFrom(s, v)
	case !joins || !errors.Is(err, bundle.ErrBase):
		return preflight.Report{}, err
	}
	return judged(Judge(ctx, s, o.Choice, stored, dry))
}

// ByIndex runs the preflight checks of this host with only the signed index, and without the dry run of dnf, which
// needs a repository. It returns the same errors as ByBundle.
func ByIndex(ctx context.Context, o Options) (preflight.Report, error) {
	if err := site.CheckDir(o.Dir); err != nil {
		return preflight.Report{}, err
	}
	t, err := site.TrustedKeys(o.Keys, o.Dir)
	if err != nil {
		return preflight.Report{}, err
	}
	signed, err := bundle.ReadSigned(o.Dir, t.Keys...)
	if errors.Is(err, os.ErrNotExist) {
		return preflight.Report{}, advice.Add(err, "give the directory that contains %v", bundle.IndexFiles())
	}
	if err != nil {
		return preflight.Report{}, t.Explain(err)
	}
	if err := t.Approve(signed.Index, signed.Files); err != nil {
		return preflight.Report{}, err
	}
	s, err := site.New(signed.Index, o.Node)
	if err != nil {
		return preflight.Report{}, err
	}
	stored, err := registry.Store{Dir: site.StoreDir}.HasSums(signed.Files[bundle.SumsName])
	if err != nil {
		return preflight.Report{}, err
	}
	return judged(Judge(ctx, s, o.Choice, stored, nil))
}

func judged(r preflight.Report, err error) (preflight.Report, error) {
	if err != nil {
		return r, err
	}
	return r, Failed(r)
}
