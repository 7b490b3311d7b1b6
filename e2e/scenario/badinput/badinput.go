// Package badinput has the scenarios of failures before the installation ends: wrong
// input, a damaged bundle, a full disk, Ctrl-C.
package badinput

import (
	"context"
	"fmt"
	"path/filepath"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
)

// BadInput gives wrong input to airgap on the connected host and on a server. Each time
// airgap must report a clear error, exit with the documented code and change nothing.
func BadInput(ctx context.Context, e *scenario.Env) error {
	return e.InOrder([]scenario.Part{
		{Title: "a root file system with only the programs", Run: func() error { return emptyRoot(ctx, e) }},
		{Title: "a typo in the file", Run: func() error { return typo(ctx, e) }},
		{Title: "an image that does not exist", Run: func() error { return missingImage(ctx, e) }},
		{Title: "wrong permissions", Run: func() error { return noPermission(ctx, e) }},
		{Title: "no space on the stick", Run: func() error { return noSpace(ctx, e) }},
		{Title: "a registry that closes half-way", Run: func() error { return closedHalfway(ctx, e) }},
		{Title: "Ctrl-C while planning", Run: func() error { return interruptedPlanning(ctx, e) }},
		{Title: "Ctrl-C and kill -9 while filling", Run: func() error { return interrupted(ctx, e) }},
		{Title: "20 times kill -9", Run: func() error { return killedFilling(ctx, e) }},
		{Title: "damaged and foreign bundles", Run: func() error { return onServer(ctx, e) }},
	})
}

func typo(ctx context.Context, e *scenario.Env) error {
	config, err := e.Config("typo.yaml", "[worker]", "[wroker]", "  ca:", "  cas:")
	if err != nil {
		return err
	}
	out := filepath.Join(e.Work, "typo")
	if err := e.Do(ctx, 2, []string{"typo.yaml:", "nodes[1].roles[0]", "control-plane, worker", "sources.cas: unknown field"}, "bundle", "-f", config, "-o", out); err != nil {
		return err
	}
	return absent(out)
}

func missingImage(ctx context.Context, e *scenario.Env) error {
	config, err := e.Config("missing.yaml", "quay.io/lab/tools:1.0", "quay.io/lab/tolos:1.0", "library/hello:1.0", "library/hello:9.9")
	if err != nil {
		return err
	}
	out := filepath.Join(e.Work, "missing")
	if err := e.Do(ctx, 1, []string{"quay.io/lab/tolos:1.0", "library/hello:9.9", "images.list"}, "bundle", "-f", config, "-o", out); err != nil {
		return err
	}
	return absent(out)
}

func onServer(ctx context.Context, e *scenario.Env) error {
	return e.WithServers(ctx, 1, func(l *lab.Lab) error {
		m := l.Machines[0]
		if err := e.Survey(ctx, l.Machines...); err != nil {
			return err
		}
		if err := damagedBundles(ctx, e); err != nil {
			return err
		}
		if err := m.AttachStick(ctx, filepath.Join(e.Work, "sticks")); err != nil {
			return err
		}
		if err := e.Script(ctx, m, "cd "+lab.StickPath+"/good/bank && rpm --import RPM-GPG-KEY-airgap && rpm -i airgap.rpm"); err != nil {
			return err
		}
		before, err := e.Picture(ctx, m)
		if err != nil {
			return err
		}
		for _, d := range damages() {
			r, err := e.On(ctx, m, "", "airgap", "install", scenario.LabSkips, lab.StickPath+"/"+d.name+"/bank")
			if err != nil {
				return err
			}
			if err := r.Want("install of a bundle: "+d.name, 1, d.says...); err != nil {
				return err
			}
			if err := untouched(ctx, e, m); err != nil {
				return fmt.Errorf("%s: %w", d.name, err)
			}
		}
		if err := noSpaceOnServer(ctx, e, m); err != nil {
			return fmt.Errorf("no space on the server: %w", err)
		}
		if err := e.MatchesPicture(ctx, m, before,
			scenario.Exception{Lines: `^\+ (file|content)\t.* /var/lib/airgap/(journal\.jsonl|lock|store|undo|undo/host\.json)( \d*)?$`, Why: "airgap's journal, its record of the host's earlier state, and an empty store"},
			scenario.Exception{Lines: `^\+ (file|content)\t.* /etc/airgap/trusted-keys/airgap-[0-9a-f]{16}\.pub( \d*)?$`, Why: "the step trust, which comes before the step store, keeps the key of airgap.rpm"}); err != nil {
			return err
		}
		return otherOS(ctx, e, m)
	})
}

// noSpaceOnServer gives the store 64 MiB: preflight must report it. With that check
// skipped, the step store must fail before it copies a byte.
func noSpaceOnServer(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	if err := e.Script(ctx, m, "mount -t tmpfs -o size=64m tmpfs /var/lib/airgap"); err != nil {
		return err
	}
	good := lab.StickPath + "/good/bank"
	for _, c := range []struct {
		skip string
		code int
		says []string
	}{
		{scenario.ClockSkip, 3, []string{"disk-space", "free on /var/lib/airgap (bundle)"}},
		{scenario.LabSkips, 1, []string{"step store", "no space: needs", "run the same command again"}},
	} {
		r, err := e.On(ctx, m, "", "airgap", "install", c.skip, good)
		if err != nil {
			return err
		}
		if err := r.Want("install "+c.skip, c.code, c.says...); err != nil {
			return err
		}
		if err := untouched(ctx, e, m); err != nil {
			return err
		}
	}
	return e.Script(ctx, m, "umount /var/lib/airgap")
}

// otherOS makes the server an el8; the bundle is for el9.
func otherOS(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	if err := e.Script(ctx, m, `sed -i -e 's/^VERSION_ID=.*/VERSION_ID="8.10"/' -e 's/el9/el8/' /etc/os-release`); err != nil {
		return err
	}
	r, err := e.On(ctx, m, "", "airgap", "install", scenario.LabSkips, lab.StickPath+"/good/bank")
	if err != nil {
		return err
	}
	if err := r.Want("install on another OS", 3, "os-supported", "el9"); err != nil {
		return err
	}
	return untouched(ctx, e, m)
}

// untouched checks that airgap changed nothing on a server except its journal.
func untouched(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	return e.Script(ctx, m,
		"! test -e /etc/kubernetes",
		"! test -e /etc/airgap/pki/ca.crt",
		"! test -e /opt/airgap/bin",
		"test -z \"$(ls /var/lib/airgap/store 2>/dev/null)\"",
		"! rpm -q kubelet >/dev/null")
}
