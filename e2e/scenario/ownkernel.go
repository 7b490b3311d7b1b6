package scenario

import (
	"context"
	_ "embed"
	"errors"
	"path/filepath"

	"airgap.dev/airgap/e2e/lab"
)

// slowly is how long an emulated server may take to be well: its processor is slow.
const slowly = "25m"

// ownKernel is the main job on a server with a kernel of its own, cgroup v2
// and nothing that the lab's containers need: the product's defaults. There a
// stick can be pulled in mid-read, and a power cut loses what was not flushed.
func ownKernel(ctx context.Context, e *Env) error {
	stick := filepath.Join(e.Work, "stick")
	return e.BankOf(ctx, lab.KindEmulated.Times(1), func(l *lab.Lab) error {
		m := l.Machines[0]
		return e.inOrder([]part{
			{"a kernel of its own, cgroup v2", func() error {
				return e.script(ctx, m, "test $(stat -fc %T /sys/fs/cgroup) = cgroup2fs", "modprobe br_netfilter && lsmod | grep -q br_netfilter && rmmod br_netfilter")
			}},
			{"there is no way out", func() error { return noRoute(ctx, e, m) }},
			{"survey", func() error { return e.survey(ctx, l.Machines...) }},
			{"bundle", func() error { return plainBundle(ctx, e, stick) }},
			{"the program, from a FAT32 stick", func() error { return e.begin(ctx, m, stick) }},
			{"preflight", func() error { return preflight(ctx, e, m) }},
			{"the stick is pulled", func() error { return pulledStick(ctx, e, m) }},
			{"install goes on", func() error { return installPlain(ctx, e, m, stick) }},
			{"verify", func() error { return e.verified(ctx, m) }},
			{"a power cut", func() error { return powerCut(ctx, e, m) }},
		})
	})
}

//go:embed ownkernel.yaml.tmpl
var plainTemplate string

func plainBundle(ctx context.Context, e *Env, stick string) error {
	config, err := e.render("airgap.yaml", plainTemplate)
	if err != nil {
		return err
	}
	return e.do(ctx, 0, []string{"proven against"}, "bundle", "-f", config, "--facts", e.facts(), "-o", stick)
}

// pulledStick pulls the stick while install copies from it: the error names
// the part that cannot be read.
func pulledStick(ctx context.Context, e *Env, m lab.Machine) error {
	const copied = `timeout 300 sh -c 'until [ "$(du -sm /var/lib/airgap/store | cut -f1)" -ge 40 ]; do sleep 0.2; done'`
	r, err := pulledWhile(ctx, e, m, copied, "airgap", "install", labSkips, lab.StickPath+"/bank")
	if err != nil {
		return err
	}
	return r.want("install from a stick that is pulled", 1, lastPart, "input/output error", "same command again")
}

// installPlain plugs the stick in again and installs.
func installPlain(ctx context.Context, e *Env, m lab.Machine, stick string) error {
	if err := m.AttachStick(ctx, stick); err != nil {
		return err
	}
	return installHere(ctx, e, m)
}

// installHere installs from the stick that is in.
func installHere(ctx context.Context, e *Env, m lab.Machine) error {
	_, err := e.airgapOn(ctx, m, "", "install", labSkips, "--timeout", slowly, lab.StickPath+"/bank")
	return err
}

// powerCut cuts the power of a server that is at work: it comes back with its
// cluster, without the stick.
func powerCut(ctx context.Context, e *Env, m lab.Machine) error {
	if err := errors.Join(m.Kill(ctx), m.Start(ctx)); err != nil {
		return err
	}
	_, err := e.must(ctx, m, nil, "airgap", "verify", labSkips, "--timeout", slowly)
	return err
}
