package delta

import (
	"errors"
	"fmt"
	"io/fs"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
)

// OpenEarlier opens the bundles in Earlier; nil without any. The caller closes the result.
func (o Options) OpenEarlier() (*bundle.Earlier, error) {
	var opened []*bundle.Bundle
	for _, dir := range o.Earlier {
		b, err := o.openEarlier(dir)
		if err != nil {
			return nil, errors.Join(err, bundle.NewEarlier(opened...).Close())
		}
		opened = append(opened, b)
	}
	if len(opened) == 0 {
		return nil, nil
	}
	return bundle.NewEarlier(opened...), nil
}

func (o Options) openEarlier(dir string) (*bundle.Bundle, error) {
	if err := site.CheckDir(dir); err != nil {
		return nil, fmt.Errorf("read --from: %w", err)
	}
	t, err := o.trustFor(dir)
	if err != nil {
		return nil, fmt.Errorf("read --from: %w", err)
	}
	b, err := bundle.Open(dir, t.Keys...)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, bundle.ErrNoBundle):
		return nil, advice.Add(fmt.Errorf("read --from: %w", err), "pass the directory of a complete bundle, with bundle.json and all parts")
	case errors.Is(err, bundle.ErrDamaged):
		return nil, advice.Replace(fmt.Errorf("read --from: %w", err), "copy the earlier bundle again, or leave out --from to use upstream only")
	case err != nil:
		return nil, fmt.Errorf("read --from: %w", t.Explain(err))
	}
	return b, nil
}

// ofOtherSite returns the files of a bundle of another site that is on the same USB drive.
func (o Options) ofOtherSite() (*bundle.Inventory, error) {
	if err := site.CheckDir(o.Shared); err != nil {
		return nil, fmt.Errorf("read --shared-with: %w", err)
	}
	t, err := o.trustFor(o.Shared)
	if err != nil {
		return nil, fmt.Errorf("read --shared-with: %w", err)
	}
	index, err := bundle.ReadIndex(o.Shared, t.Keys...)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, bundle.ErrDamaged) {
		return nil, advice.Add(fmt.Errorf("read --shared-with: %w", err), "pass the directory of the other site's finished bundle")
	}
	if err != nil {
		return nil, fmt.Errorf("read --shared-with: %w", t.Explain(err))
	}
	if index.IsDelta() {
		return nil, advice.Usagef("airgap bundle: --shared-with %s is a delta: pass a complete bundle, so that a site needs one other bundle only", o.Shared)
	}
	v := bundle.NewInventory(index)
	v.OtherSite = true
	return &v, nil
}
