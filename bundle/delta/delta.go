// Package delta reads the list of contents that the servers already have, so that a
// bundle omits them. The source is the base bundle or a receipt that a registry host
// signed.
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

// Options name the source of that list.
type Options struct {
	From      string   // directory of a bundle, or a receipt; "": make a complete bundle
	Authority string   // trust.CAHash of the CA that must have signed the receipt
	Keys      []string // files or fingerprints: one of these keys must have signed the bundle; none: Own or Signer
	Earlier   []string // directories of bundles to use in place of upstream
	Shared    string   // directory of another site's bundle on the same USB drive; "": none
	Own       string   // directory of this host's signing keys
	Signer    string   // fingerprint of the site's key if it signs this bundle; else ""
}

// Check returns a usage error (advice.IsUsage) if the options contradict each other.
func (o Options) Check() error {
	if o.From == "" && o.Authority != "" {
		return advice.Usagef("airgap bundle: --receipt-key requires --delta-from")
	}
	if o.From == "" && o.Shared == "" && len(o.Earlier) == 0 && len(o.Keys) > 0 {
		return advice.Usagef("airgap bundle: --require-key requires --delta-from, --shared-with or --from")
	}
	if o.From != "" && o.Shared != "" {
		return advice.Usagef("airgap bundle: --delta-from and --shared-with exclude each other: the servers of one delta have one base")
	}
	if o.Authority != "" && !trust.IsCAHash(o.Authority) {
		return advice.Usagef("airgap bundle: --receipt-key %q: want sha256: and 64 hexadecimal digits, as in the output of airgap registry status --receipt", o.Authority)
	}
	return nil
}

// Inventory returns the contents of the servers, from a source with a verified
// signature; nil without From. The error names the signature or the file that is
// missing.
func (o Options) Inventory() (*bundle.Inventory, error) {
	if o.Shared != "" {
		return o.ofOtherSite()
	}
	if o.From == "" {
		return nil, nil
	}
	info, err := os.Stat(o.From)
	if err != nil {
		return nil, advice.Add(fmt.Errorf("read --delta-from: %w", err), "pass the directory of the base bundle, or a receipt that airgap registry status --receipt wrote on a registry host")
	}
	if info.IsDir() {
		return o.ofBundle()
	}
	return o.ofReceipt()
}

func (o Options) ofBundle() (*bundle.Inventory, error) {
	t, err := o.trustFor(o.From)
	if err != nil {
		return nil, err
	}
	index, err := bundle.ReadIndex(o.From, t.Keys...)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, bundle.ErrDamaged) {
		return nil, advice.Add(err, "pass the directory with %v of the base bundle; its parts are not needed", bundle.IndexFiles())
	}
	if err != nil {
		return nil, t.Explain(err)
	}
	v := bundle.NewInventory(index)
	return &v, nil
}

// trustFor returns the keys that may have signed the bundle in dir: o.Keys, else the keys
// that sign this bundle and the public keys next to them, else the keys that any bundle is
// checked with.
func (o Options) trustFor(dir string) (*site.Trust, error) {
	keys := o.Keys
	if files, _ := filepath.Glob(filepath.Join(o.Own, "*.pub")); len(o.Keys) == 0 && o.Own != "" { // also of colleagues
		keys = append(keys, files...)
	}
	if len(o.Keys) == 0 && o.Signer != "" {
		keys = append(keys, o.Signer)
	}
	return site.TrustedKeys(keys, dir)
}

func (o Options) ofReceipt() (*bundle.Inventory, error) {
	f, err := host.OpenPlain(o.From)
	if err != nil {
		return nil, advice.Add(fmt.Errorf("read receipt: %w", err), "pass the path of a regular file, not a link")
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, trust.MaxReceipt))
	if err != nil {
		return nil, fmt.Errorf("read receipt: %w", err)
	}
	r, err := trust.ReadReceipt(text, o.Authority)
	if wrong, is := errors.AsType[*trust.AuthorityError](err); is && wrong.Want == "" {
		return nil, advice.Add(err, "compare it with the output of airgap registry status --receipt on the registry host, or with --ca-hash in the join command of the cluster; then pass --receipt-key %s", wrong.Shown)
	}
	if errors.Is(err, trust.ErrReceipt) {
		return nil, advice.Add(fmt.Errorf("read %s: %w", o.From, err), "write the receipt again on a control-plane host: airgap registry status --receipt FILE")
	}
	if err != nil {
		return nil, err
	}
	return &r.Inventory, nil
}
