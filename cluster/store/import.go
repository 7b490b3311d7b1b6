package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/sidefiles"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/verification"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/registry/trust"
)

// ImportOptions say which bundles come into a store, and from where.
type ImportOptions struct {
	Place

	Bundle  string // its directory; with From its name there, "" for all
	From    string // ADDRESS:PORT of another registry of the cluster; "": none
	PKI     string // directory of the registries' authority
	InPlace bool   // serve the bundle from where it lies
	Set     bool   // Bundle is one medium of a set: import the parts that it has
	Console ui.Console
}

// Imported is the result for one bundle.
type Imported struct {
	Name    string `json:"name"`
	Was     bool   `json:"was"`     // it was in the store already
	Written int64  `json:"written"` // bytes that were new, or were wrong
	InPlace bool   `json:"inPlace"` // it is served from where it lies
	// Missing are the files of a set that no imported medium has had, and MissingBytes is their size.
	Missing      []string `json:"missing,omitempty"`
	MissingBytes int64    `json:"missingBytes,omitempty"`
	Unfinished   bool     `json:"unfinished,omitempty"` // it is not in the store yet
	set          bool     // Bundle was one medium of a set
	signed       bool     // the store had it with fewer signatures
	dir          string   // in the store, of a set
}

// Imports are the bundles of one import.
type Imports []Imported

// Import copies bundles into a store, each once, and repairs existing ones. With an error
// it returns the bundles that were imported before; nil if none was started.
func Import(ctx context.Context, o ImportOptions) (Imports, error) {
	if o.Set {
		return importSet(ctx, o)
	}
	views, t, err := importedFrom(ctx, o)
	for _, v := range views {
		defer v.Close()
	}
	if err != nil {
		return nil, err
	}
	bundles, list := bundlesOf(views), Imports{}
	for _, b := range bundles { // before any of them is in the store
		if err := t.Accept(b); err != nil {
			return nil, err
		}
	}
	err = o.act("import", "Copy bundles into the store", func() (err error) {
		list, err = importAll(ctx, o, bundles, t)
		return err
	}, namesOf(bundles)...)
	return list, err
}

func namesOf(bundles []*bundle.Bundle) []string {
	var names []string
	for _, b := range bundles {
		names = append(names, b.Index().Name+" ("+b.ID()+")")
	}
	return names
}

// importAll returns the bundles that it has imported, also with an error.
func importAll(ctx context.Context, o ImportOptions, bundles []*bundle.Bundle, t *site.Trust) (list Imports, err error) {
	store := registry.Store{Dir: o.Dir, InPlace: o.InPlace}
	list = Imports{}
	for _, b := range bundles {
		i, errOne := importOne(ctx, store, b, t, o.Console)
		if errOne != nil {
			err = errOne
			break
		}
		list = append(list, i)
	}
	if slices.ContainsFunc(list, func(i Imported) bool { return !i.Was || i.signed }) {
		err = errors.Join(err, serveAgain(ctx, o.Dir))
	}
	return list, err
}

func importOne(ctx context.Context, store registry.Store, b *bundle.Bundle, t *site.Trust, console ui.Console) (i Imported, err error) {
	i.Name = b.Index().Name
	if i.Was, err = store.Has(b, t.Keys...); err != nil {
		return i, err
	}
	linked, err := store.Linked(b)
	if err != nil {
		return i, err
	}
	if i.signed, err = store.LacksSignatures(b, t.Keys...); err != nil {
		return i, err
	}
	i.Was, i.InPlace = i.Was && linked == "", store.InPlace && (linked != "" || !i.Was)
	i.Written, err = store.Import(ctx, b, console.Progress(), t.Keys...)
	return i, err
}

// importedFrom opens the bundles to import: only the bundle on the drive, or the bundles of a peer
// with their bases.
func importedFrom(ctx context.Context, o ImportOptions) ([]*bundle.View, *site.Trust, error) {
	if o.From == "" {
		b, t, err := site.Open(o.Bundle, o.Keys)
		if err != nil {
			return nil, nil, err
		}
		site.WarnOfAltered(b, o.Console.Progress().Say)
		return []*bundle.View{bundle.NewView(b)}, t, nil
	}
	if err := site.CheckAddress("airgap registry import: --from", o.From); err != nil {
		return nil, nil, err
	}
	if o.PKI == site.PKIDir {
		if err := site.MustBeInstalled("registry import --from"); err != nil {
			return nil, nil, err
		}
	}
	t, err := o.trusted()
	if err != nil {
		return nil, nil, err
	}
	client, err := verification.RegistryAt(o.From, trust.PKI{Dir: o.PKI}.CAFile())
	if err != nil {
		return nil, nil, err
	}
	names := []string{o.Bundle}
	if o.Bundle == "" {
		names = nil
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
		if err := sidefiles.CheckServed(v); err != nil {
			return views, t, err
		}
	}
	return views, t, nil
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

// Write says it, a line each.
func (all Imports) Write(w io.Writer) error {
	for _, i := range all {
		if _, err := fmt.Fprintln(w, i.line()); err != nil {
			return err
		}
	}
	return nil
}

func (i Imported) line() string {
	switch {
	case i.Unfinished:
		return fmt.Sprintf("%s is not complete yet: %s (%s) missing: %s\nnext: mount the next medium and run the same command", i.Name,
			ui.Count(len(i.Missing), "file"), ui.Size(i.MissingBytes), someOf(i.Missing))
	case i.InPlace:
		return i.Name + " is served from where it lies"
	case i.Was && i.Written == 0 && i.signed:
		return i.Name + " is in the store already; its copy has more signatures now"
	case i.Was && i.set:
		return i.Name + " is in the store already"
	case i.Was && i.Written == 0:
		return i.Name + " is in the store already, and every byte of it is right; nothing changed"
	case i.Was:
		return fmt.Sprintf("%s was in the store already; %s of it were damaged and are repaired", i.Name, ui.Size(i.Written))
	}
	if i.dir == "" {
		return i.Name + " is in the store"
	}
	without := ""
	if len(i.Missing) > 0 {
		without = ", without " + someOf(i.Missing)
	}
	return fmt.Sprintf("%s is in the store%s\nnext: airgap install %s", i.Name, without, ui.Quote(i.dir))
}
