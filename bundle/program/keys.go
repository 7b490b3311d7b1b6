package program

import (
	"cmp"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/bundle/signing"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
)

// KeyOptions name the builder's keys.
type KeyOptions struct {
	Dir     string // directory of the keys of this user
	New     bool   // create the keys that Dir lacks
	Sign    string // file or pipe with the key that signs the bundle, instead of the key in Dir; "": none
	RPM     string // file with the public key that signs packages, instead of the key in Dir; its private key is elsewhere; "": none
	Program string // program that signs with the private keys that are elsewhere; "": none
	Folder  string // directory in which a person exchanges inputs and signatures for these keys; "": none
}

// Keys are the builder's keys: one signs the bundle, the other its RPM repository and
// airgap.rpm.
type Keys struct {
	Bundle crypto.Signer // ECDSA; nil if Make must create it
	RPM    *rpm.Key      // nil if Make must create it
	Own    bool          // the site keeps Bundle and named it with --sign-key

	options KeyOptions
	method  signing.Method  // of the keys that are elsewhere; nil: there are none
	folder  *signing.Folder // nil without KeyOptions.Folder
	others  []*ecdsa.PublicKey
}

// CheckKeys reads the keys, and reports unusable and missing keys before a plan takes
// time. The file Sign is read only once, because it can be a pipe.
func CheckKeys(ctx context.Context, o KeyOptions) (*Keys, error) {
	if err := checkNamed(o.Dir); err != nil {
		return nil, err
	}
	k := &Keys{Own: o.Sign != "", options: o}
	if err := k.choose(ctx); err != nil {
		return nil, err
	}
	err := k.readBundleKey()
	if errors.Is(err, bundle.ErrEncryptedKey) {
		return nil, advice.Add(err, "let openssl ask for the passphrase, so that no key is written to disk: airgap bundle --sign-key <(openssl pkey -in FILE) …")
	}
	if err == nil {
		err = k.readRPMKey()
	}
	if err != nil {
		return nil, err
	}
	k.others, err = colleagues(o.Dir)
	return k, err
}

// choose selects the method for keys that are elsewhere.
func (k *Keys) choose(ctx context.Context) error {
	switch o := k.options; {
	case o.Program != "" && o.Folder != "":
		return advice.Usagef("--signer and --sign-elsewhere: want one of them")
	case o.Program != "":
		k.method = signing.Program(ctx, o.Program)
	case o.Folder != "":
		k.folder = &signing.Folder{Dir: o.Folder}
		k.method = k.folder.Signature
	case o.RPM != "":
		return advice.Usagef("--rpm-key %s is a public key: add --signer PROGRAM or --sign-elsewhere DIR, which sign with its private key", o.RPM)
	}
	if k.method != nil && k.options.Sign == "" && k.options.RPM == "" {
		return advice.Usagef("--signer and --sign-elsewhere need the public keys that they sign with: --sign-key FILE, --rpm-key FILE")
	}
	return nil
}

func (k *Keys) readBundleKey() (err error) {
	o := k.options
	switch {
	case o.Sign == "":
		key, err := bundle.LoadKey(o.Dir)
		if err == nil {
			k.Bundle = key
		}
		return host.IgnoreMissing(err)
	case k.method != nil:
		public, err := bundle.LoadPublicKey(o.Sign)
		if err != nil {
			return advice.Add(err, "with --signer and --sign-elsewhere, give the public key of the private key that is elsewhere")
		}
		k.Bundle, err = signing.New("bundle", public, k.method)
		return err
	}
	key, err := bundle.LoadSigningKey(o.Sign)
	if err == nil {
		k.Bundle = key
	}
	return err
}

func (k *Keys) readRPMKey() error {
	if k.options.RPM == "" {
		key, err := rpm.LoadKey(k.options.Dir)
		if err == nil {
			k.RPM = key
		}
		return host.IgnoreMissing(err)
	}
	text, err := host.ReadInput(k.options.RPM, host.MaxInput)
	if err != nil {
		return fmt.Errorf("read RPM key: %w", err)
	}
	k.RPM, err = rpm.External(text, func(public *rsa.PublicKey) (crypto.Signer, error) {
		return signing.New("rpm", public, k.method)
	})
	return k.Pending(err)
}

// Pending is the error with the signatures that a person has to bring, if some are
// missing. Until then the signatures of packages are placeholders.
func (k *Keys) Pending(err error) error {
	if err == nil || errors.Is(err, signing.ErrPending) {
		return cmp.Or(k.folder.Missing(), err)
	}
	return err
}

// NeedKeys returns an error if a key is missing that Make may not create. Servers trust the
// key of the first bundle, so a new key on another host must be a decision.
func (k *Keys) NeedKeys() error {
	var missing []string
	if k.Bundle == nil {
		missing = append(missing, "no key that signs bundles (airgap.key)")
	}
	if k.RPM == nil {
		missing = append(missing, "no key that signs packages ("+rpm.PrivateKeyFile+")")
	}
	if len(missing) == 0 || k.options.New {
		return nil
	}
	return advice.Add(fmt.Errorf("sign the bundle: %s has %s", k.options.Dir, strings.Join(missing, " and ")),
		"if servers already trust a key, copy its directory from the host that built their bundle, or name it with --keys; for the first bundle of a site, create keys with --new-keys")
}

// Make creates the missing keys.
func (k *Keys) Make() error {
	if err := k.NeedKeys(); err != nil {
		return err
	}
	if k.Bundle == nil {
		key, err := bundle.LoadOrCreateKey(k.options.Dir)
		if err != nil {
			return err
		}
		k.Bundle = key
	}
	if k.RPM == nil {
		var err error
		if k.RPM, err = rpm.LoadOrCreateKey(k.options.Dir); err != nil {
			return err
		}
	}
	return nil
}

// colleagues returns the public keys in the directory. airgap.rpm contains them too, so
// that the servers accept the bundles of all builders of a site.
func colleagues(dir string) ([]*ecdsa.PublicKey, error) {
	files, _ := filepath.Glob(filepath.Join(dir, "*.pub"))
	var keys []*ecdsa.PublicKey
	for _, file := range files {
		key, err := bundle.LoadPublicKey(file)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// PublicKey is the key for the signature of the bundle.
func (k *Keys) PublicKey() *ecdsa.PublicKey { return bundle.PublicOf(k.Bundle) }

// Fingerprint is the fingerprint of PublicKey.
func (k *Keys) Fingerprint() string { return bundle.Fingerprint(k.PublicKey()) }

// RPMFingerprint is the fingerprint of the RPM key in the format of gpg.
func (k *Keys) RPMFingerprint() string { return k.RPM.Keyring().Fingerprints()[0] }

// RPMShortID is the name of the key in rpm: gpg-pubkey-ID-….
func (k *Keys) RPMShortID() string {
	f := strings.ToLower(k.RPMFingerprint())
	return f[len(f)-8:]
}

// OwnFingerprint is the fingerprint of the site's key, SHA256:…; "" without one.
func (k *Keys) OwnFingerprint() string {
	if !k.Own {
		return ""
	}
	return k.Fingerprint()
}
