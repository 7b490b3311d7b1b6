package main

import (
	"errors"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/registry"
)

// keyFlags lets a command be told which keys a bundle must be signed with.
func keyFlags(cmd *cobra.Command, values *[]string) {
	cmd.Flags().StringArrayVar(values, "require-key", nil, "the bundle must be signed with exactly this key: a public key (PEM), or its fingerprint, SHA256:…; given more than once, with one of them. Default: what install or join wrote down here when they had this flag, else the keys that airgap.rpm brought to "+site.TrustDir+", else this user's own")
}

// openBundle opens a bundle and says what to do about the usual troubles.
func openBundle(dir string, values []string) (*bundle.Bundle, *site.Trust, error) {
	t, err := site.TrustedKeys(values, append([]string{dir}, site.StoredBundles(site.StoreDir)...)...)
	if err != nil {
		return nil, nil, err
	}
	b, err := bundle.Open(dir, t.Keys...)
	switch {
	case errors.Is(err, bundle.ErrDamaged):
		err = advice.Add(err, "copy the bundle onto the stick again, and run sha256sum -c SHA256SUMS there")
	case errors.Is(err, bundle.ErrNoBundle):
		err = advice.Add(err, "name the directory that holds bundle.json")
	default:
		err = t.Explain(err)
	}
	return b, t, err
}

// openWhole is openBundle with what a delta leaves out, from this host's store.
func openWhole(dir string, values []string) (*bundle.View, *site.Trust, error) {
	b, t, err := openBundle(dir, values)
	if err != nil {
		return nil, t, err
	}
	v, err := registry.Store{Dir: site.StoreDir}.View(b, t.Keys...)
	if err != nil {
		return nil, t, errors.Join(err, b.Close())
	}
	return v, t, nil
}
