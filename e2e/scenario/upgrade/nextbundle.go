package upgrade

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
)

// NextBundle builds the next bundle from new facts of the servers, and installs its program on the
// first host.
func (u *Upgrading) NextBundle(ctx context.Context) error { return u.bundleIn(ctx, "next") }

// bundleIn builds a bundle in a directory, and installs its program on the first host.
func (u *Upgrading) bundleIn(ctx context.Context, dir string) error {
	e := u.E
	u.next = filepath.Join(e.Work, dir, "stick")
	if err := errors.Join(os.MkdirAll(filepath.Dir(u.next), 0o755), e.Survey(ctx, u.L.Machines...)); err != nil {
		return err
	}
	config, err := e.Config(dir+"/airgap.yaml", u.Edits...)
	if err != nil {
		return err
	}
	if err := u.makeNext(ctx, config); err != nil {
		return err
	}
	return u.plugIn(ctx)
}

// plugIn plugs the stick into the first host, and installs the bundle's program there.
func (u *Upgrading) plugIn(ctx context.Context) error {
	if err := u.first().AttachStick(ctx, u.next); err != nil {
		return err
	}
	return u.E.Script(ctx, u.first(), "cd "+lab.StickPath+"/bank && rpm --import RPM-GPG-KEY-airgap && rpm -U --oldpackage --replacepkgs airgap.rpm")
}

func (u *Upgrading) makeNext(ctx context.Context, config string) error {
	if u.base == "" {
		return scenario.BundleTwice(ctx, u.E, "-f", config, "-o", u.next)
	}
	if err := u.E.Do(ctx, 0, []string{"delta:"}, "bundle", "-f", config, "--facts", u.E.Facts(), "-o", u.next, "--delta-from", filepath.Join(u.base, "bank")); err != nil {
		return err
	}
	deltas, err := filepath.Glob(filepath.Join(u.next, "bank-delta-*"))
	if err != nil || len(deltas) != 1 {
		return fmt.Errorf("got the deltas %v on the stick, want one: %w", deltas, err)
	}
	return os.Rename(deltas[0], filepath.Join(u.next, "bank")) // a bundle's directory can have any name
}
