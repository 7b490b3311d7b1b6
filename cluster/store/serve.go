package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/verification"
	"airgap.dev/airgap/internal/advice"
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

// Serve serves every bundle of the store until ctx ends.
func Serve(ctx context.Context, o ServeOptions) error {
	if err := o.mustBeInstalled("registry serve"); err != nil {
		return err
	}
	bundles, err := openAny(o.Place, o.Log)
	if err != nil {
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
	return registry.Serve(ctx, registry.ServeOptions{
		Options: registry.Options{
			Bundles: bundles,
			Pushed:  o.Pushed,
			Users:   o.Users,
			Brought: registry.Store{Dir: o.Dir}.ImportedNames,
			Peers:   peers,
			Join:    registry.JoinFiles(o.Join),
			Log:     o.Log,
			Version: version.String(),
		},
		Addr:        fmt.Sprintf(":%d", o.Port),
		Certificate: certs.CertificateFile(),
		Key:         certs.KeyFile(),
	})
}

// openAny opens all readable bundles: one damaged bundle must not remove the others
// from the cluster. The error is logged, and status and verify show it.
func openAny(p Place, log *slog.Logger) ([]*bundle.Bundle, error) {
	t, err := p.trusted()
	if err != nil {
		return nil, err
	}
	bundles, err := registry.Store{Dir: p.Dir}.Open(t.Keys...)
	if err != nil {
		log.Error("open store", "error", err.Error())
	}
	if len(bundles) == 0 {
		return nil, advice.Add(errors.Join(fmt.Errorf("no bundle to serve in %s", p.Dir), err), "run airgap registry import DIR to add one")
	}
	return bundles, nil
}
