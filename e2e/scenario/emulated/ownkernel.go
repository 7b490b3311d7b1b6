// Package emulated has the scenarios that need an emulated server with a separate kernel:
// power cuts, sticks, clocks, cgroups.
package emulated

import (
	"context"
	_ "embed"
	"errors"
	"path/filepath"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
	"airgap.dev/airgap/e2e/scenario/badinput"
)

// slowly is the timeout for verify on an emulated server, which has a slow processor.
const slowly = "25m"

// Server installs on an emulated server with its own kernel and cgroup v2. It uses the
// product's defaults, without the settings for the lab's containers. There a USB drive
// can be pulled during a read, and a power cut loses unflushed data.
func Server(ctx context.Context, e *scenario.Env) error {
	stick := filepath.Join(e.Work, "stick")
	return e.WithServersOf(ctx, lab.KindEmulated.Times(1), func(l *lab.Lab) error {
		m := l.Machines[0]
		return e.InOrder([]scenario.Part{
			{Title: "its own kernel, cgroup v2", Run: func() error {
				return e.Script(ctx, m, "test $(stat -fc %T /sys/fs/cgroup) = cgroup2fs", "modprobe br_netfilter && lsmod | grep -q br_netfilter && rmmod br_netfilter")
			}},
			{Title: "no route leads out of the site", Run: func() error { return scenario.NoRoute(ctx, m) }},
			{Title: "survey", Run: func() error { return e.Survey(ctx, l.Machines...) }},
			{Title: "bundle", Run: func() error { return plainBundle(ctx, e, stick) }},
			{Title: "the program, from a FAT32 stick", Run: func() error { return e.InstallProgram(ctx, m, stick) }},
			{Title: "preflight", Run: func() error { return scenario.Preflight(ctx, e, m) }},
			{Title: "the stick is pulled", Run: func() error { return stickPulled(ctx, e, m) }},
			{Title: "install continues", Run: func() error { return installPlain(ctx, e, m, stick) }},
			{Title: "verify", Run: func() error { return e.Verified(ctx, m) }},
			{Title: "a power cut", Run: func() error { return powerCut(ctx, e, m) }},
		})
	})
}

//go:embed ownkernel.yaml.tmpl
var plainTemplate string

func plainBundle(ctx context.Context, e *scenario.Env, stick string) error {
	config, err := e.Render("airgap.yaml", plainTemplate)
	if err != nil {
		return err
	}
	return e.Do(ctx, 0, []string{"proven against"}, "bundle", "-f", config, "--facts", e.Facts(), "-o", stick)
}

// stickPulled pulls the stick while install copies from it: the error must name the part
// that cannot be read.
func stickPulled(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	const copied = `timeout 300 sh -c 'until [ "$(du -sm /var/lib/airgap/store | cut -f1)" -ge 40 ]; do sleep 0.2; done'`
	r, err := pulledWhile(ctx, e, m, copied, "airgap", "install", scenario.LabSkips, lab.StickPath+"/bank")
	if err != nil {
		return err
	}
	return r.Want("install from a stick that is pulled", 1, badinput.LastPart, "input/output error", "same command again")
}

// installPlain plugs the stick in again and installs.
func installPlain(ctx context.Context, e *scenario.Env, m lab.Machine, stick string) error {
	if err := m.AttachStick(ctx, stick); err != nil {
		return err
	}
	return installHere(ctx, e, m)
}

// installHere installs from the stick that is plugged in.
func installHere(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	_, err := e.AirgapOn(ctx, m, "", "install", scenario.LabSkips, "--timeout", slowly, lab.StickPath+"/bank")
	return err
}

// powerCut cuts the power of a running server: after the restart its cluster must work,
// without the stick.
func powerCut(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	if err := errors.Join(m.Kill(ctx), m.Start(ctx)); err != nil {
		return err
	}
	_, err := e.Must(ctx, m, nil, "airgap", "verify", scenario.LabSkips, "--timeout", slowly)
	return err
}
