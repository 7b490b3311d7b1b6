package store

import (
	"context"
	"fmt"
	"log/slog"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/verification"
	"airgap.dev/airgap/internal/version"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/registry/trust"
)

// ServeOptions has the data to serve and its users.
type ServeOptions struct {
	Place

	Port   int
	PKI    string   // directory of the registry's certificate and key
	Pushed string   // directory of pushed images; "": pushes are off
	Users  string   // htpasswd file of the users who can push
	Peers  []string // ADDRESS:PORT of the other registries, to copy their pushes
	Join   string   // directory that joining hosts may read
	Log    *slog.Logger
}

// Serve serves every bundle of the store until ctx ends, also one that comes back on a stick.
func Serve(ctx context.Context, o ServeOptions) error {
	if err := o.mustBeInstalled("registry serve"); err != nil {
		return err
	}
	for _, addr := range o.Peers {
		if err := site.CheckAddress("airgap registry serve: --peer", addr); err != nil {
			return err
		}
	}
	certs := trust.PKI{Dir: o.PKI}
	peers, err := verification.RegistriesAt(o.Peers, certs.CAFile())
	if err != nil {
		return err
	}
	store := registry.Store{Dir: o.Dir}
	return registry.ServeStore(ctx, registry.StoreOptions{
		ServeOptions: registry.ServeOptions{
			Options: registry.Options{
				Pushed:  o.Pushed,
				Users:   o.Users,
				Brought: store.ImportedNames,
				Peers:   peers,
				Join:    registry.JoinFiles(o.Join),
				Log:     o.Log,
				Version: version.String(),
			},
			Addr:        fmt.Sprintf(":%d", o.Port),
			Certificate: certs.CertificateFile(),
			Key:         certs.KeyFile(),
		},
		Store: store,
		Open:  o.open,
	})
}

// open opens all readable bundles: one damaged bundle must not remove the others from the cluster.
func (p Place) open() ([]*bundle.Bundle, error) {
	t, err := p.trusted()
	if err != nil {
		return nil, err
	}
	return registry.Store{Dir: p.Dir}.Open(t.Keys...)
}
