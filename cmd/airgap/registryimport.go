package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/verdict"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/registry/trust"
)

// imported is the result of an import, one for each bundle.
type imported struct {
	Name    string `json:"name"`
	Was     bool   `json:"was"`     // it was in the store already
	Written int64  `json:"written"` // bytes that were new, or were wrong
	InPlace bool   `json:"inPlace"` // it is served from where it lies
}

func (i imported) line() string {
	switch {
	case i.InPlace:
		return i.Name + " is served from where it lies"
	case i.Was && i.Written == 0:
		return i.Name + " is in the store already, and every byte of it is right; nothing changed"
	case i.Was:
		return fmt.Sprintf("%s was in the store already; %s of it were damaged and are repaired", i.Name, ui.Size(i.Written))
	}
	return i.Name + " is in the store"
}

func (a *app) registryImport() *cobra.Command {
	var f storeFlags
	var from, pki string
	var inPlace bool
	cmd := &cobra.Command{
		Use:   "import DIR | --from ADDRESS:PORT [NAME]",
		Short: "Copy a bundle into this host's store, or repair it there",
		Long: `Copies a bundle into this host's store, verifying while copying. Interrupted, it goes
on where it stopped. A delta is refused while something that it leaves out is not
there. A bundle that the store has already is read and verified, and what is damaged
is written anew; the registry gives it out at once.

With --from the bytes come from another registry of the cluster instead of a stick:
the bundle called NAME with what it rests on, or all that are served there.

The registry is restarted when a bundle is new, and serves it.`,
		Example: "  airgap registry import /media/stick/bank\n  airgap registry import --from 10.0.0.2:5000",
		Args: func(_ *cobra.Command, args []string) error {
			if from == "" && len(args) != 1 || len(args) > 1 || from != "" && inPlace {
				return advice.Usagef("airgap registry import: give the bundle's directory, which may be served --in-place; or --from ADDRESS:PORT and at most one name")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			views, t, err := importedFrom(cmd.Context(), from, trust.PKI{Dir: pki}, args, f)
			for _, v := range views {
				defer v.Close()
			}
			if err != nil {
				return err
			}
			return a.importAll(cmd.Context(), registry.Store{Dir: f.store, InPlace: inPlace}, views, t)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&inPlace, "in-place", false, "serve the bundle from DIR instead of copying it; importing it again without this flag makes a copy")
	cmd.Flags().StringVar(&from, "from", "", "another registry of this cluster")
	cmd.Flags().StringVar(&pki, "pki", site.PKIDir, "directory of the registries' authority, ca.crt")
	return cmd
}

// importedFrom opens what is to be imported: the stick's bundle alone, or a peer's
// with what they rest on.
func importedFrom(ctx context.Context, from string, pki trust.PKI, args []string, f storeFlags) ([]*bundle.View, *site.Trust, error) {
	if from == "" {
		b, t, err := site.Open(args[0], f.keys)
		if err != nil {
			return nil, nil, err
		}
		return []*bundle.View{bundle.NewView(b)}, t, nil
	}
	if err := site.CheckAddress("airgap registry import: --from", from); err != nil {
		return nil, nil, err
	}
	t, err := site.TrustedKeys(f.keys, site.StoredBundles(f.store)...)
	if err != nil {
		return nil, nil, err
	}
	client, err := verdict.RegistryAt(from, pki.CAFile())
	if err != nil {
		return nil, nil, err
	}
	names := args
	if len(names) == 0 {
		health, err := client.Health(ctx)
		if err != nil {
			return nil, nil, err
		}
		for _, b := range health.Bundles {
			names = append(names, b.ID)
		}
	}
	var views []*bundle.View
	for _, name := range names {
		v, err := client.View(ctx, name, t.Keys...)
		if err != nil {
			return views, t, err
		}
		views = append(views, v)
	}
	return views, t, nil
}

// importAll imports each bundle once. What was imported is shown also where the next
// one failed.
func (a *app) importAll(ctx context.Context, store registry.Store, views []*bundle.View, t *site.Trust) error {
	list := []imported{}
	var err error
	for _, b := range bundlesOf(views) {
		i := imported{Name: b.Index().Name}
		if i.Was, err = store.Holds(b, t.Keys...); err != nil {
			break
		}
		var linked string
		if linked, err = store.Linked(b); err != nil {
			break
		}
		i.Was, i.InPlace = i.Was && linked == "", store.InPlace && (linked != "" || !i.Was)
		if i.Written, err = store.Import(ctx, b, a.newProgress(), t.Keys...); err != nil {
			break
		}
		list = append(list, i)
	}
	if slices.ContainsFunc(list, func(i imported) bool { return !i.Was }) {
		err = errors.Join(err, serveAgain(ctx, store.Dir))
	}
	return errors.Join(a.print(list, func(w io.Writer) error {
		for _, i := range list {
			if _, err := fmt.Fprintln(w, i.line()); err != nil {
				return err
			}
		}
		return nil
	}), err)
}

// bundlesOf are all bundles of the views, each once, a base before its delta.
func bundlesOf(views []*bundle.View) []*bundle.Bundle {
	var all []*bundle.Bundle
	for _, v := range views {
		for _, b := range v.Bundles() {
			if !slices.ContainsFunc(all, func(o *bundle.Bundle) bool { return o.ID() == b.ID() }) {
				all = append(all, b)
			}
		}
	}
	all = bundle.NewestFirst(all)
	slices.Reverse(all)
	return all
}
