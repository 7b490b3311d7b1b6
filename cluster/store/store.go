// Package store manages the data of this host's registry: it imports, lists and removes bundles,
// serves them, and manages the users who can push.
package store

import (
	"context"
	"errors"
	"fmt"
	"io"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/delta"
	"airgap.dev/airgap/cluster/journal"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/registry/trust"
)

// Place is a store with the keys of its bundles.
type Place struct {
	Dir  string   // of the bundles
	Keys []string // of --require-key
}

// mustBeInstalled returns an error for this host's own store if airgap is not installed here.
func (p Place) mustBeInstalled(command string) error {
	if p.Dir != site.StoreDir {
		return nil
	}
	return site.MustBeInstalled(command)
}

// act records a change of this host's own store in the journal.
func (p Place) act(name, title string, do func() error, changes ...string) error {
	if p.Dir != site.StoreDir {
		return do()
	}
	return journal.Act(name, title, do, changes...)
}

// trusted are the keys that its bundles must be signed with.
func (p Place) trusted() (*site.Trust, error) {
	return site.TrustedKeys(p.Keys, site.StoredBundles(p.Dir)...)
}

// Names returns the names of the bundles in a store; none if it cannot be read.
func Names(dir string) []string {
	names, _ := registry.Store{Dir: dir}.List() // an error shows when the store is opened
	return names
}

// Listing is the contents of a store.
type Listing struct {
	Bundles       []Bundle                `json:"bundles"`
	Disagreements []registry.Disagreement `json:"disagreements,omitempty"` // the newest is served
}

// List returns the contents of the store. With an error it has the readable bundles; nil if none was
// checked.
func List(p Place) (*Listing, error) {
	if err := p.mustBeInstalled("registry status"); err != nil {
		return nil, err
	}
	t, err := p.trusted()
	if err != nil {
		return nil, err
	}
	bundles, broken := registry.Store{Dir: p.Dir}.Open(t.Keys...)
	defer bundle.NewView(bundles...).Close()
	l := &Listing{Bundles: make([]Bundle, len(bundles)), Disagreements: registry.Disagreements(bundles)}
	for i, b := range bundles {
		l.Bundles[i] = Describe(b.Index())
	}
	return l, broken
}

// Write lists the bundles, a line each, and images that they disagree about.
func (l *Listing) Write(w io.Writer) error {
	if len(l.Bundles) == 0 {
		_, err := fmt.Fprintln(w, "no bundle in the store")
		return err
	}
	for _, b := range l.Bundles {
		if err := b.write(w); err != nil {
			return err
		}
	}
	for _, d := range l.Disagreements {
		if _, err := fmt.Fprintf(w, "%s is %s's, %s; %s has %s\n", d.Image, d.Of, d.Is, d.Not, d.Was); err != nil {
			return err
		}
	}
	return nil
}

// Receipt writes the contents of the store's bundles into file, signed with the registries' CA
// in the directory pki. With an error it covers the readable bundles; nil if nothing was written.
func Receipt(p Place, pki, file string) (*delta.Receipt, error) {
	if err := p.mustBeInstalled("registry status"); err != nil {
		return nil, err
	}
	t, err := p.trusted()
	if err != nil {
		return nil, err
	}
	bundles, broken := registry.Store{Dir: p.Dir}.Open(t.Keys...)
	defer bundle.NewView(bundles...).Close()
	written, err := delta.WriteReceipt(file, trust.PKI{Dir: pki}, bundles)
	if err != nil {
		return nil, errors.Join(err, broken)
	}
	return &written, broken
}

// serveAgain has this host's registry open its store again, where it runs.
func serveAgain(ctx context.Context, dir string) error {
	if dir != site.StoreDir {
		return nil
	}
	_, err := host.Local{}.Run(ctx, host.Cmd{Name: "systemctl", Args: []string{"try-restart", registry.UnitName}})
	return err
}
