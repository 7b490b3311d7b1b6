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

// certsHAEdits returns the edits that give the lab's airgap.yaml three control-plane hosts.
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

// HA renews the certificates of three control-plane hosts, one host at a time, and rotates
// their CAs. Meanwhile one client sends requests to the load balancer, and another one watches pods.
func HA(ctx context.Context, e *scenario.Env) error {
	stick := filepath.Join(e.Work, "stick")
	return e.WithServers(ctx, 3, func(l *lab.Lab) error {
		first := l.Machines[0]
		stop, err := l.Balance(ctx, scenario.Vip, 6443, l.Machines...)
		if err != nil {
			return err
		}
		defer stop()
		return e.InOrder([]scenario.Part{
			{Title: "survey", Run: func() error { return e.Survey(ctx, l.Machines...) }},
			{Title: "bundle", Run: func() error { return e.MakeBundle(ctx, stick, certsHAEdits()...) }},
			{Title: "keys for the first host", Run: func() error { return e.AuthorizeKeys(ctx, first, l.Machines[1:]...) }},
			{Title: "one command, three servers", Run: func() error { return scenario.InstallAll(ctx, e, first, stick, 3) }},
			{Title: "the certificates are renewed on each host", Run: func() error { return renewedOnEach(ctx, e, l.Machines) }},
			{Title: "the control plane", Run: func() error { return scenario.Members(ctx, e, first, 3) }},
			{Title: "verify", Run: func() error { return e.Verified(ctx, first) }},
			{Title: "the CAs are rotated, one at a time", Run: func() error { return rotateCAsOfThree(ctx, e, l.Machines) }},
			{Title: "the control plane again", Run: func() error { return scenario.Members(ctx, e, first, 3) }},
			{Title: "verify again", Run: func() error { return e.Verified(ctx, first) }},
		})
	})
}

// balancerLimit is the longest time for which the balancer may send requests to a server
// that restarts.
const balancerLimit = 10 * time.Second

// renewedOnEach renews the certificates on each host, and checks that all of them changed. The
// balancer removes a server only after failed health checks, so a few requests can fail.
func renewedOnEach(ctx context.Context, e *scenario.Env, machines []lab.Machine) error {
	first := machines[0]
	if err := startClients(ctx, e, first, netip.AddrPortFrom(scenario.Vip, 6443).String()); err != nil {
		return err
	}
	for _, m := range machines {
		before, err := serialNumbers(ctx, e, m)
		if err != nil {
			return err
		}
		if _, err := e.Must(ctx, m, []string{"restarted kube-apiserver"}, "airgap", "certs", "renew", "--all"); err != nil {
			return err
		}
		after, err := serialNumbers(ctx, e, m)
		if err != nil {
			return err
		}
		if err := allDiffer(before, after); err != nil {
			return fmt.Errorf("%s: %w", m.Name(), err)
		}
	}
	outages, err := stopClients(ctx, e, first)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.Log, "no API server answered at the balancer for %v\n", outages)
	if len(outages) > len(machines) || slices.ContainsFunc(outages, func(d time.Duration) bool { return d > balancerLimit }) {
		return fmt.Errorf("no API server answered at the balancer for %v, want at most %v for each of %d restarts", outages, balancerLimit, len(machines))
	}
	return nil
}
