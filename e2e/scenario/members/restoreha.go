package members

import (
	"context"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
	"airgap.dev/airgap/e2e/secrets"
)

// threeControlPlanes make the lab's airgap.yaml one of three control-plane hosts
// behind a balancer.
func threeControlPlanes() []string {
	return []string{
		`  version: "1.36.3"`, `  version: "1.36.3"` + "\n  controlPlaneEndpoint: " + netip.AddrPortFrom(scenario.Vip, 6443).String(),
		"address: 10.88.0.12, roles: [worker]}\n", "address: 10.88.0.12, roles: [control-plane]}\n  - {name: node3, address: 10.88.0.13, roles: [control-plane]}\nssh:\n  identityFile: ~/.ssh/bank\n",
	}
}

// RestoreElsewhere loses three control-plane hosts and restores on the second one,
// from the first one's backup; the others join it.
func RestoreElsewhere(ctx context.Context, e *scenario.Env) error {
	e.Rules = append(e.Rules, secrets.Rule{Path: savedDir + "/**", Kinds: []secrets.Kind{secrets.Key, secrets.Code, secrets.EncryptionKey}, Mode: 0o600, Why: "a copy of a backup"})
	stick := filepath.Join(e.Work, "stick")
	var s saved
	if err := balanced(ctx, e, func(l *lab.Lab) error { return loseThree(ctx, e, l, stick, &s) }); err != nil {
		return err
	}
	return balanced(ctx, e, func(l *lab.Lab) error { return haveBackElsewhere(ctx, e, l, stick, s) })
}

// balanced is a job on three servers behind a balancer.
func balanced(ctx context.Context, e *scenario.Env, job func(*lab.Lab) error) error {
	return e.Bank(ctx, 3, func(l *lab.Lab) error {
		stop, err := l.Balance(ctx, scenario.Vip, 6443, l.Machines...)
		if err != nil {
			return err
		}
		defer stop()
		return job(l)
	})
}

func loseThree(ctx context.Context, e *scenario.Env, l *lab.Lab, stick string, s *saved) error {
	first := l.Machines[0]
	return e.InOrder([]scenario.Part{
		{Title: "survey", Run: func() error { return e.Survey(ctx, l.Machines...) }},
		{Title: "bundle", Run: func() error { return e.MakeBundle(ctx, stick, threeControlPlanes()...) }},
		{Title: "keys for the first host", Run: func() error { return e.LetIn(ctx, first, l.Machines[1:]...) }},
		{Title: "install, on all three", Run: func() error { return scenario.InstallAll(ctx, e, first, stick, 3) }},
		{Title: "data, and a backup of the first host", Run: func() error {
			if err := e.Script(ctx, l.Machines[1], scenario.Kubectl+"create configmap before --from-literal=word=before", scenario.Kubectl+"create secret generic plain --from-literal=word=known"); err != nil {
				return err
			}
			return takenAway(ctx, e, first, s)
		}},
		{Title: "a backup beside a living cluster is refused", Run: func() error { return refusedBeside(ctx, e, first) }},
	})
}

// joinFresh lets a server in by the line that another one prints.
func joinFresh(ctx context.Context, e *scenario.Env, by, m lab.Machine, stick string) error {
	if err := e.Begin(ctx, m, stick); err != nil {
		return err
	}
	return scenario.JoinOne(ctx, e, by, m)
}

// refusedBeside: a host that is in a cluster is not restored on.
func refusedBeside(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	r, err := e.On(ctx, m, "", "sh", "-c", restoreCommand("$(ls -d /var/lib/airgap/backup/* | tail -n 1) --allow-unsigned"))
	if err != nil {
		return err
	}
	return r.Want("restore on a host of a cluster", 1, "airgap has installed this host, or started to install it", "airgap reset")
}

func haveBackElsewhere(ctx context.Context, e *scenario.Env, l *lab.Lab, stick string, s saved) error {
	first, second, third := l.Machines[0], l.Machines[1], l.Machines[2]
	from := s.encrypted()
	var done restored
	return e.InOrder([]scenario.Part{
		{Title: "the backup, on the second host", Run: func() error {
			return bringSaved(ctx, second, s)
		}},
		{Title: "the program, from the stick", Run: func() error { return e.Begin(ctx, second, stick) }},
		{Title: "restore", Run: func() (err error) { done, err = restoreOn(ctx, e, second, from); return err }},
		{Title: "the others are missing", Run: func() error {
			if strings.Join(done.Lost, " ") != "node1 node3" || len(done.Join) != 2 {
				return fmt.Errorf("restore says %+v, want node1 and node3 to be lost", done)
			}
			return scenario.Members(ctx, e, second, 1)
		}},
		{Title: "the first host joins the second", Run: func() error { return joinAgain(ctx, e, first, stick, done) }},
		{Title: "so does the third", Run: func() error { return joinFresh(ctx, e, first, third, stick) }},
		{Title: "three of all", Run: func() error { return scenario.ThreeOfAll(ctx, e, l.Machines) }},
		{Title: "the data of then", Run: func() error {
			return e.Script(ctx, first, "[ $("+scenario.Kubectl+"get configmap before -o jsonpath={.data.word}) = before ]", "[ $("+scenario.Kubectl+"get secret plain -o jsonpath={.data.word} | base64 -d) = known ]")
		}},
		{Title: "verify, on two hosts", Run: func() error {
			if err := e.Verified(ctx, first); err != nil {
				return err
			}
			return e.Verified(ctx, second)
		}},
		{Title: "a restore beside a living cluster is refused", Run: func() error { return refusedBehind(ctx, e, second, from) }},
	})
}

// refusedBehind takes a host out and restores on it while the cluster lives.
func refusedBehind(ctx context.Context, e *scenario.Env, second lab.Machine, from string) error {
	if _, err := e.Must(ctx, second, []string{"undone: "}, "airgap", "reset", "--yes", "--wipe-data"); err != nil {
		return err
	}
	r, err := e.On(ctx, second, "", strings.Fields(restoreCommand(from))...)
	if err != nil {
		return err
	}
	if err := r.Want("restore behind a living balancer", 1, "an API server answers at 10.88.0.5:6443", "to bring a host back into a running cluster, use airgap join"); err != nil {
		return err
	}
	return unbegun(ctx, e, second)
}
