package rpm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"airgap.dev/airgap/internal/host"
)

// A power cut in the middle of a transaction leaves packages that the rpm
// database calls installed though the scripts at the transaction's end never
// ran, a SELinux policy not loaded for instance, and files under rpm's
// temporary names. So what a transaction is about to install is written down,
// and the mark goes when dnf is through with it, also when airgap was killed
// meanwhile: the shell that runs dnf takes it away.

// transact has dnf install or reinstall packages.
func (t Transaction) transact(ctx context.Context, verb string, packages []NEVRA) error {
	unmark := []string{"sh", "-c", `"$@" && rm -f "$0"`, t.begunPath()}
	return t.dnfIn(ctx, t.StateDir, unmark, append([]string{"-y", verb}, names(packages)...)...)
}

func (t Transaction) begunPath() string { return filepath.Join(t.StateDir, "begun.json") }

func (t Transaction) begin(packages []NEVRA) error {
	data, err := json.Marshal(packages)
	if err != nil {
		return err
	}
	return host.WriteFile(t.begunPath(), append(data, '\n'), 0o600)
}

// cut reports whether dnf began a transaction and did not end it.
func (t Transaction) cut() bool {
	_, err := os.Stat(t.begunPath())
	return err == nil
}

// repair installs again what a transaction that was cut had installed by then.
func (t Transaction) repair(ctx context.Context) error {
	data, err := os.ReadFile(t.begunPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var begun []NEVRA
	if err == nil {
		err = json.Unmarshal(data, &begun)
	}
	if err != nil {
		return fmt.Errorf("read which transaction was cut: %w", err)
	}
	have, err := t.installed(ctx)
	if err != nil {
		return err
	}
	var again []NEVRA
	for _, p := range begun {
		if have[p.String()] {
			again = append(again, p)
		}
	}
	if len(again) > 0 {
		if err := t.reinstall(ctx, again); err != nil {
			return fmt.Errorf("install again what dnf had installed when it was cut: %w", err)
		}
	}
	return host.Remove(t.begunPath())
}

func (t Transaction) reinstall(ctx context.Context, packages []NEVRA) error {
	if err := t.configure(); err != nil {
		return err
	}
	if err := t.dnf(ctx, "-y", "makecache"); err != nil {
		return err
	}
	return t.transact(ctx, "reinstall", packages)
}
