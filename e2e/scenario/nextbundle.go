package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"airgap.dev/airgap/e2e/lab"
)

// nextBundle is made from what the servers are like by now.
func (u *upgrading) nextBundle(ctx context.Context) error { return u.bundleIn(ctx, "next") }

// bundleIn makes a bundle, and has its program on the first host.
func (u *upgrading) bundleIn(ctx context.Context, dir string) error {
	e := u.e
	u.next = filepath.Join(e.Work, dir, "stick")
	if err := errors.Join(os.MkdirAll(filepath.Dir(u.next), 0o755), e.survey(ctx, u.l.Machines...)); err != nil {
		return err
	}
	config, err := e.Config(dir+"/airgap.yaml", u.edits...)
	if err != nil {
		return err
	}
	if err := u.makeNext(ctx, config); err != nil {
		return err
	}
	return u.insert(ctx)
}

// insert plugs the stick in on the first host, which takes the bundle's program.
func (u *upgrading) insert(ctx context.Context) error {
	if err := u.first().AttachStick(ctx, u.next); err != nil {
		return err
	}
	return u.e.script(ctx, u.first(), "cd "+lab.StickPath+"/bank && rpm --import RPM-GPG-KEY-airgap && rpm -U --oldpackage --replacepkgs airgap.rpm")
}

func (u *upgrading) makeNext(ctx context.Context, config string) error {
	if u.base == "" {
		return bundleTwice(ctx, u.e, "-f", config, "-o", u.next)
	}
	if err := u.e.do(ctx, 0, []string{"delta:"}, "bundle", "-f", config, "--facts", u.e.facts(), "-o", u.next, "--delta-from", filepath.Join(u.base, "bank")); err != nil {
		return err
	}
	made, err := filepath.Glob(filepath.Join(u.next, "bank-delta-*"))
	if err != nil || len(made) != 1 {
		return fmt.Errorf("on the stick are %v, %w", made, err)
	}
	return os.Rename(made[0], filepath.Join(u.next, "bank")) // what a directory is called is a person's choice
}
