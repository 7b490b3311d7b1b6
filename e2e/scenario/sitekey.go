package scenario

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"airgap.dev/airgap/e2e/lab"
)

// A siteKey is the key of a site that signs its bundles itself. openssl creates it and prints
// the public key, of which the fingerprint is the SHA-256 hash.
type siteKey struct{ file, fingerprint string }

func newSiteKey(ctx context.Context, e *Env) (k siteKey, err error) {
	k.file = filepath.Join(e.Work, "site.key")
	const generate = `umask 077; openssl ecparam -name prime256v1 -genkey -noout -out "$0" && openssl pkey -in "$0" -pubout -outform DER`
	der, err := exec.CommandContext(ctx, "sh", "-c", generate, k.file).Output()
	if err != nil {
		return k, fmt.Errorf("create the site's key: %w", err)
	}
	k.fingerprint = fmt.Sprintf("SHA256:%x", sha256.Sum256(der))
	private, err := os.ReadFile(k.file)
	return k, errors.Join(err, e.Book.FromFile("connected host:"+k.file, private))
}

// requiresAnotherKey checks that install refuses the bundle if --require-key names another
// key, and that it changes nothing.
func requiresAnotherKey(ctx context.Context, e *Env, m lab.Machine) error {
	const another = "SHA256:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
	r, err := e.On(ctx, m, "", "airgap", "install", e.Skips(), "--require-key", another, e.BundleOnStick())
	if err != nil {
		return err
	}
	if err := r.Want("install with another required key", 1, "signed with", another); err != nil {
		return err
	}
	return e.Script(ctx, m, "! test -e /var/lib/airgap/journal.jsonl", "! test -e /etc/airgap/required-keys")
}

// requiresKey checks that the servers have stored the key, also the worker, which gets it
// from its join command. The registry, which does not run as root, must start with it.
func requiresKey(ctx context.Context, e *Env, k siteKey, machines ...lab.Machine) error {
	var errs []error
	for _, m := range machines {
		errs = append(errs, e.Script(ctx, m, "grep -qx "+k.fingerprint+" /etc/airgap/required-keys"))
	}
	return errors.Join(append(errs, e.Script(ctx, machines[0],
		"systemctl restart airgap-registry",
		`for i in $(seq 30); do airgap registry status && exit; sleep 1; done; exit 1`))...)
}
