// Package delta says what the servers have already, so that a bundle leaves it out. A bundle before
// says it, or a receipt that a registry host signs.
package delta

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/registry/trust"
)

// Options say what the servers have already.
type Options struct {
	From      string   // directory of a bundle, or a receipt; "": the bundle is whole
	Authority string   // trust.CAHash that a receipt must be signed by
	Keys      []string // files or fingerprints: one of them must have signed the bundle; none: Own or Signer
	Own       string   // directory of this host's signing keys
	Signer    string   // fingerprint of the key that the site keeps, where it signs this bundle; else ""
}

// Check returns a usage error (advice.IsUsage) for options that do not go together.
func (o Options) Check() error {
	if o.From == "" && (o.Authority != "" || len(o.Keys) > 0) {
		return advice.Usagef("airgap bundle: --receipt-key and --require-key are for --delta-from")
	}
	if o.Authority != "" && !trust.IsCAHash(o.Authority) {
		return advice.Usagef("airgap bundle: --receipt-key %q: want sha256: and 64 hexadecimal digits, as airgap registry status --receipt prints it", o.Authority)
	}
	return nil
}

// Inventory is what the servers have, as a signature vouches for it; nil without From. An error says
// which signature or which file is missing.
func (o Options) Inventory() (*bundle.Inventory, error) {
	if o.From == "" {
		return nil, nil
	}
	info, err := os.Stat(o.From)
	if err != nil {
		return nil, advice.Add(fmt.Errorf("read what the servers have: %w", err), "name the directory of the bundle before, or a receipt that airgap registry status --receipt wrote there")
	}
	if info.IsDir() {
		return o.ofBundle()
	}
	return o.ofReceipt()
}

func (o Options) ofBundle() (*bundle.Inventory, error) {
	t, err := o.baseTrust()
	if err != nil {
		return nil, err
	}
	index, err := bundle.ReadIndex(o.From, t.Keys...)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, bundle.ErrDamaged) {
		return nil, advice.Add(err, "name the directory that holds %v of the bundle before; its parts are not needed", bundle.IndexFiles())
	}
	if err != nil {
		return nil, t.Explain(err)
	}
	v := bundle.NewInventory(index)
	return &v, nil
}

// baseTrust is in the named keys, else in those that sign here, as they most often
// signed the bundle before, else in those that any bundle is checked with.
func (o Options) baseTrust() (*site.Trust, error) {
	keys := o.Keys
	if public := filepath.Join(o.Own, bundle.PublicKeyName); len(o.Keys) == 0 && site.Exists(public) {
		keys = append(keys, public)
	}
	if len(o.Keys) == 0 && o.Signer != "" {
		keys = append(keys, o.Signer)
	}
	return site.TrustedKeys(keys, o.From)
}

func (o Options) ofReceipt() (*bundle.Inventory, error) {
	f, err := host.OpenPlain(o.From)
	if err != nil {
		return nil, advice.Add(fmt.Errorf("read receipt: %w", err), "name the file itself")
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, trust.MaxReceipt))
	if err != nil {
		return nil, fmt.Errorf("read receipt: %w", err)
	}
	r, err := trust.ReadReceipt(text, o.Authority)
	if wrong, is := errors.AsType[*trust.AuthorityError](err); is && wrong.Want == "" {
		return nil, advice.Add(err, "compare it with what airgap registry status --receipt printed there, or with --ca-hash of the cluster's join line; then give --receipt-key %s", wrong.Shown)
	}
	if errors.Is(err, trust.ErrReceipt) {
		return nil, advice.Add(fmt.Errorf("%s: %w", o.From, err), "write it again on a control-plane host: airgap registry status --receipt FILE")
	}
	if err != nil {
		return nil, err
	}
	return &r.Inventory, nil
}
