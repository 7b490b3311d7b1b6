package certs

import (
	"context"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"time"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
)

// certsHAEdits make the lab's airgap.yaml one of three control-plane hosts.
func certsHAEdits() []string {
	return []string{
		`  version: "1.36.3"`, `  version: "1.36.3"` + "\n  controlPlaneEndpoint: " + netip.AddrPortFrom(scenario.Vip, 6443).String(),
		"  - {name: node2, address: 10.88.0.12, roles: [worker]}\n", `  - {name: node2, address: 10.88.0.12, roles: [control-plane, worker]}
  - {name: node3, address: 10.88.0.13, roles: [control-plane]}
ssh:
  identityFile: ~/.ssh/bank
`,
	}
}

// HA renews the certificates of three control-plane hosts, one after the
// other, and replaces their authorities, while somebody asks at the balancer and another watches there.
func HA(ctx context.Context, e *scenario.Env) error {
	stick := filepath.Join(e.Work, "stick")
	return e.Bank(ctx, 3, func(l *lab.Lab) error {
		first := l.Machines[0]
		stop, err := l.Balance(ctx, scenario.Vip, 6443, l.Machines...)
		if err != nil {
			return err
		}
		defer stop()
		return e.InOrder([]scenario.Part{
			{Title: "survey", Run: func() error { return e.Survey(ctx, l.Machines...) }},
			{Title: "bundle", Run: func() error { return e.MakeBundle(ctx, stick, certsHAEdits()...) }},
			{Title: "keys for the first host", Run: func() error { return e.LetIn(ctx, first, l.Machines[1:]...) }},
			{Title: "one command, three servers", Run: func() error { return scenario.InstallAll(ctx, e, first, stick, 3) }},
			{Title: "renewed on each", Run: func() error { return renewedOnEach(ctx, e, l.Machines) }},
			{Title: "the control plane", Run: func() error { return scenario.Members(ctx, e, first, 3) }},
			{Title: "verify", Run: func() error { return e.Verified(ctx, first) }},
			{Title: "the authorities, one after the other", Run: func() error { return authoritiesOfThree(ctx, e, l.Machines) }},
			{Title: "the control plane once more", Run: func() error { return scenario.Members(ctx, e, first, 3) }},
			{Title: "verify again", Run: func() error { return e.Verified(ctx, first) }},
		})
	})
}

// balancerLimit is how long the balancer may go on sending to a server that is
// restarted.
const balancerLimit = 10 * time.Second

// renewedOnEach wants other certificates on every host afterwards. The balancer
// takes a server out by its health, so a few questions may fail.
func renewedOnEach(ctx context.Context, e *scenario.Env, machines []lab.Machine) error {
	first := machines[0]
	if err := asked(ctx, e, first, netip.AddrPortFrom(scenario.Vip, 6443).String()); err != nil {
		return err
	}
	for _, m := range machines {
		before, err := shown(ctx, e, m)
		if err != nil {
			return err
		}
		if _, err := e.Must(ctx, m, []string{"restarted kube-apiserver"}, "airgap", "certs", "renew", "--all"); err != nil {
			return err
		}
		after, err := shown(ctx, e, m)
		if err != nil {
			return err
		}
		if err := allDiffer(before, after); err != nil {
			return fmt.Errorf("%s: %w", m.Name(), err)
		}
	}
	stretches, err := silence(ctx, e, first)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.Log, "at the balancer no API server answered for %v\n", stretches)
	if len(stretches) > len(machines) || slices.ContainsFunc(stretches, func(d time.Duration) bool { return d > balancerLimit }) {
		return fmt.Errorf("at the balancer no API server answered for %v, want at most %v for each of %d restarts", stretches, balancerLimit, len(machines))
	}
	return nil
}
