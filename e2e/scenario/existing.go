package scenario

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"airgap.dev/airgap/e2e/lab"
)

// siteRegistry is where the bank has had a registry for years.
var siteRegistry = netip.MustParseAddrPort("10.88.0.200:5443")

// existing is a site that wants its images in the registry that it has: airgap push
// fills it, and the servers pull from there and from nowhere else.
func existing(ctx context.Context, e *Env) error {
	stick := filepath.Join(e.Work, "stick")
	dir, err := os.MkdirTemp("", "harbor") // neither the connected host nor a server
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	harbor, err := NewRegistry3(ctx, e, dir, siteRegistry)
	if err != nil {
		return err
	}
	edits := []string{
		"packages:\n  os: el9",
		fmt.Sprintf("registry:\n  existing:\n    address: %s/bank\n    ca: |\n      %s\npackages:\n  os: el9", siteRegistry, strings.ReplaceAll(strings.TrimSpace(harbor.CA), "\n", "\n      ")),
	}
	return e.Bank(ctx, 2, func(l *lab.Lab) error {
		first, worker := l.Machines[0], l.Machines[1]
		stop, err := l.Beside(ctx, "the bank's registry", siteRegistry, harbor.Argv...)
		if err != nil {
			return err
		}
		err = e.inOrder([]part{
			{"survey", func() error { return e.survey(ctx, l.Machines...) }},
			{"bundle", func() error { return e.makeBundle(ctx, stick, edits...) }},
			{"the program, from the stick", func() error { return e.begin(ctx, first, stick) }},
			{"refused: the registry is empty", func() error { return emptyRegistry(ctx, e, first) }},
			{"push, twice", func() error { return pushed(ctx, e, first) }},
			{"install, twice", func() error { return e.install(ctx, first) }},
			{"join, twice", func() error { return e.join(ctx, first, worker, stick) }},
			{"verify", func() error { return e.verified(ctx, first) }},
			{"a workload, without our registry", func() error { return withoutOurs(ctx, e, first) }},
			{"reset", func() error { return noMirrorsLeft(ctx, e, worker, first) }},
		})
		return errors.Join(err, stop())
	})
}

// emptyRegistry wants preflight to say what lacks, and where.
func emptyRegistry(ctx context.Context, e *Env, m lab.Machine) error {
	r, err := e.On(ctx, m, "", "airgap", "install", labSkips, lab.StickPath+"/bank")
	if err != nil {
		return err
	}
	return errors.Join(
		r.want("install", 3, "site-registry", siteRegistry.String()+"/bank lacks ", "docker.io/library/hello:1.0", "airgap push DIR "+siteRegistry.String()+"/bank", "nothing was changed"),
		e.script(ctx, m, "! test -e /var/lib/airgap/journal.jsonl", "! test -e /etc/containerd/certs.d"))
}

// pushed pushes from a server. This registry takes no index of which platforms lack.
func pushed(ctx context.Context, e *Env, m lab.Machine) error {
	if _, err := e.must(ctx, m, []string{" 0 there already", "one platform: " + siteRegistry.String() + "/bank/registry.k8s.io/pause:3.10.2 is sha256:"}, "airgap", "push", lab.StickPath+"/bank"); err != nil {
		return err
	}
	_, err := e.must(ctx, m, []string{" 0 new, "}, "airgap", "push", lab.StickPath+"/bank")
	return err
}

// withoutOurs stops our registry while images are pulled that nobody has pulled
// before, and wants none of them ever to have been asked of it.
func withoutOurs(ctx context.Context, e *Env, first lab.Machine) error {
	if err := e.script(ctx, first, "systemctl stop airgap-registry"); err != nil {
		return err
	}
	return errors.Join(
		e.workload(ctx, first),
		e.script(ctx, first,
			"systemctl start airgap-registry",
			"journalctl --unit airgap-registry --output cat | grep -q '/rpm/'", // what joining hosts need comes from it
			"! journalctl --unit airgap-registry --output cat | grep '/blobs/'"),
		e.verified(ctx, first))
}

func noMirrorsLeft(ctx context.Context, e *Env, machines ...lab.Machine) error {
	for _, m := range machines {
		if _, err := e.must(ctx, m, []string{"taken back"}, "airgap", "reset", "--yes"); err != nil {
			return err
		}
		if err := e.script(ctx, m, "! test -e /etc/containerd", "! test -e /etc/airgap/existing-registry.crt"); err != nil {
			return err
		}
	}
	return nil
}
