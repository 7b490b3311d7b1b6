package runtimes

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
)

// siteRegistry is the address of the bank's existing registry.
var siteRegistry = netip.MustParseAddrPort("10.88.0.200:5443")

// ExistingRegistry uses the site's existing registry: airgap push fills it, and the servers pull only
// from there.
func ExistingRegistry(ctx context.Context, e *scenario.Env) error {
	stick := filepath.Join(e.Work, "stick")
	dir, err := os.MkdirTemp("", "harbor") // outside the connected host's and the servers' directories
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	harbor, err := scenario.NewRegistry3(ctx, e, dir, siteRegistry)
	if err != nil {
		return err
	}
	edits := []string{
		"packages:\n  os: el9",
		fmt.Sprintf("registry:\n  existing:\n    address: %s/bank\n    ca: |\n      %s\npackages:\n  os: el9", siteRegistry, strings.ReplaceAll(strings.TrimSpace(harbor.CA), "\n", "\n      ")),
	}
	return e.WithServers(ctx, 2, func(l *lab.Lab) error {
		first, worker := l.Machines[0], l.Machines[1]
		stop, err := l.Beside(ctx, "the bank's registry", siteRegistry, harbor.Argv...)
		if err != nil {
			return err
		}
		err = e.InOrder([]scenario.Part{
			{Title: "survey", Run: func() error { return e.Survey(ctx, l.Machines...) }},
			{Title: "bundle", Run: func() error { return e.MakeBundle(ctx, stick, edits...) }},
			{Title: "the program, from the stick", Run: func() error { return e.InstallProgram(ctx, first, stick) }},
			{Title: "refused: the registry is empty", Run: func() error { return emptyRegistry(ctx, e, first) }},
			{Title: "push, twice", Run: func() error { return pushed(ctx, e, first) }},
			{Title: "install, twice", Run: func() error { return e.Install(ctx, first) }},
			{Title: "join, twice", Run: func() error { return e.Join(ctx, first, worker, stick) }},
			{Title: "verify", Run: func() error { return e.Verified(ctx, first) }},
			{Title: "a workload, without airgap's registry", Run: func() error { return withoutAirgapRegistry(ctx, e, first) }},
			{Title: "reset", Run: func() error { return noMirrorsLeft(ctx, e, worker, first) }},
		})
		return errors.Join(err, stop())
	})
}

// emptyRegistry checks that preflight names the missing images, the registry and the command.
func emptyRegistry(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	r, err := e.On(ctx, m, "", "airgap", "install", scenario.LabSkips, lab.StickPath+"/bank")
	if err != nil {
		return err
	}
	return errors.Join(
		r.Want("install", 3, "site-registry", "missing in "+siteRegistry.String()+"/bank: ", "docker.io/library/hello:1.0", "airgap push DIR "+siteRegistry.String()+"/bank", "nothing was changed"),
		e.Script(ctx, m, "! test -e /var/lib/airgap/journal.jsonl", "! test -e /etc/containerd/certs.d"))
}

// pushed pushes from a server. This registry refuses an image index with missing platforms.
func pushed(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	if _, err := e.Must(ctx, m, []string{", 0 unchanged", "one platform: " + siteRegistry.String() + "/bank/registry.k8s.io/pause:3.10.2 is sha256:"}, "airgap", "push", lab.StickPath+"/bank"); err != nil {
		return err
	}
	_, err := e.Must(ctx, m, []string{" 0 new, "}, "airgap", "push", lab.StickPath+"/bank")
	return err
}

// withoutAirgapRegistry stops airgap's registry while the servers pull new images, and checks that
// no image was ever requested from it.
func withoutAirgapRegistry(ctx context.Context, e *scenario.Env, first lab.Machine) error {
	if err := e.Script(ctx, first, "systemctl stop airgap-registry"); err != nil {
		return err
	}
	return errors.Join(
		e.Workload(ctx, first),
		e.Script(ctx, first,
			"systemctl start airgap-registry",
			"journalctl --unit airgap-registry --output cat | grep -q '/rpm/'", // joining hosts get their packages from it
			"! journalctl --unit airgap-registry --output cat | grep '/blobs/'"),
		e.Verified(ctx, first))
}

func noMirrorsLeft(ctx context.Context, e *scenario.Env, machines ...lab.Machine) error {
	for _, m := range machines {
		if _, err := e.Must(ctx, m, []string{"undone: "}, "airgap", "reset", "--yes"); err != nil {
			return err
		}
		if err := e.Script(ctx, m, "! test -e /etc/containerd", "! test -e /etc/airgap/existing-registry.crt"); err != nil {
			return err
		}
	}
	return nil
}
