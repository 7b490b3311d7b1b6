package store

import (
	"context"
	"errors"
	"io/fs"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/parts"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/registry"
)

// importSet imports the parts of one medium.
func importSet(ctx context.Context, o ImportOptions) (Imports, error) {
	if err := site.CheckDir(o.Bundle); err != nil {
		return nil, err
	}
	t, err := site.TrustedKeys(o.Keys, append([]string{o.Bundle}, site.StoredBundles(o.Dir)...)...)
	if err != nil {
		return nil, err
	}
	approve := func(index *bundle.Index, files map[string][]byte) error {
		err := t.Approve(index, files)
		return advice.Replace(err, "%s; then import a medium with the new %s: the parts stay in the store", advice.Of(err), bundle.CosignaturesName)
	}
	var state *parts.State
	var had bool
	err = o.act("import", "Copy the parts of a bundle from one medium into the store", func() (err error) {
		state, had, err = registry.Store{Dir: o.Dir}.ImportFrom(ctx, o.Bundle, approve, o.Console.Progress(), t.Keys...)
		return err
	}, o.Bundle)
	if err != nil {
		return nil, setHint(t.Explain(err))
	}
	i := Imported{Name: state.Name, Was: had, Missing: state.MissingFiles, MissingBytes: state.MissingBytes(), Unfinished: !state.Complete, set: true, dir: state.Dir}
	i.signed = had && len(state.Took) > 0
	if state.Complete && !had || i.signed {
		err = serveAgain(ctx, o.Dir)
	}
	return Imports{i}, err
}

func setHint(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, bundle.ErrUnsigned):
		return advice.Add(err, "each medium needs %s next to its parts, and %s if the bundle has it", ui.And(bundle.IndexFiles()), ui.And(bundle.OptionalIndexFiles()))
	case errors.Is(err, bundle.ErrDamaged):
		return advice.Add(err, "write this medium again; the parts of the other media stay in the store")
	}
	return advice.Add(err, "run the same command again: it continues where it stopped")
}
