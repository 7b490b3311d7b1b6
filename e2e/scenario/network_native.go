package scenario

import (
	"context"
	"errors"
	"path/filepath"

	"airgap.dev/airgap/e2e/lab"
)

// withoutTunnels tests a network that drops all tunnels, between servers of one network that does
// not filter pod addresses: pods' packets use no tunnel, and reset removes their routes.
func withoutTunnels(ctx context.Context, e *Env) error {
	stick := filepath.Join(e.Work, "native")
	return e.WithServers(ctx, 2, func(l *lab.Lab) error {
		first, second := l.Machines[0], l.Machines[1]
		return e.InOrder([]Part{
			{"survey", func() error { return e.Survey(ctx, l.Machines...) }},
			{"bundle", func() error {
				return e.MakeBundle(ctx, stick, "  - {name: node2, address: 10.88.0.12, roles: [worker]}\n", "  - {name: node2, address: 10.88.0.12, roles: [worker]}\nssh:\n  identityFile: ~/.ssh/bank\n")
			}},
			{"keys for the first host", func() error { return e.AuthorizeKeys(ctx, first, second) }},
			{"the program, from the stick", func() error { return e.InstallProgram(ctx, first, stick) }},
			{"install without a tunnel", func() error {
				return errors.Join(l.Network.Drop(ctx, lab.Drop{Proto: "udp", Port: 8472}), l.Network.Drop(ctx, lab.Drop{Proto: "udp", Port: 4789}), installWithoutTunnel(ctx, e, first, second))
			}},
			{"verify", func() error { return e.Verified(ctx, first) }},
			{"a workload", func() error { return e.Workload(ctx, first) }},
			{"the port stays the same", func() error { return unchanged(ctx, e, first) }},
			{"reset removes the routes", func() error {
				_, err := e.Must(ctx, second, []string{"undone: "}, "airgap", "reset", "--yes")
				return errors.Join(err, e.Script(ctx, second, "! ip route | grep '^10\\.244\\.'"))
			}},
		})
	})
}

func installWithoutTunnel(ctx context.Context, e *Env, machines ...lab.Machine) error {
	r, err := e.On(ctx, machines[0], "", InstallOverSSH()...)
	if err != nil {
		return err
	}
	if err := r.Want("install", 0, "pods' packets use no tunnel; VXLAN on UDP 8472 does not pass between all hosts; VXLAN on UDP 4789 does not pass between all hosts; all hosts are in one network, which carries packets with pod addresses", "the cluster is verified: 2 nodes"); err != nil {
		return err
	}
	for _, m := range machines {
		if err := e.Script(ctx, m, "! ip link show flannel.1", "ip route | grep -q '^10\\.244\\..* via 10\\.88\\.0\\.1'", `grep -q '"encapsulation": "native"' /var/lib/airgap/network/network.json`); err != nil {
			return err
		}
	}
	return nil
}
