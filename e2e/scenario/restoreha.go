package scenario

import (
	"context"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/secrets"
)

// threeControlPlanes make the lab's airgap.yaml one of three control-plane hosts
// behind a balancer.
func threeControlPlanes() []string {
	return []string{
		`  version: "1.36.3"`, `  version: "1.36.3"` + "\n  controlPlaneEndpoint: " + netip.AddrPortFrom(vip, 6443).String(),
		"address: 10.88.0.12, roles: [worker]}\n", "address: 10.88.0.12, roles: [control-plane]}\n  - {name: node3, address: 10.88.0.13, roles: [control-plane]}\nssh:\n  identityFile: ~/.ssh/bank\n",
	}
}

// restoreElsewhere loses three control-plane hosts and restores on the second one,
// from the first one's backup; the others join it.
func restoreElsewhere(ctx context.Context, e *Env) error {
	e.rules = append(e.rules, secrets.Rule{Path: savedDir + "/**", Kinds: []secrets.Kind{secrets.Key, secrets.Code, secrets.EncryptionKey}, Mode: 0o600, Why: "a copy of a backup"})
	stick := filepath.Join(e.Work, "stick")
	var s saved
	if err := balanced(ctx, e, func(l *lab.Lab) error { return loseThree(ctx, e, l, stick, &s) }); err != nil {
		return err
	}
	return balanced(ctx, e, func(l *lab.Lab) error { return haveBackElsewhere(ctx, e, l, stick, s) })
}

// balanced is a job on three servers behind a balancer.
func balanced(ctx context.Context, e *Env, job func(*lab.Lab) error) error {
	return e.Bank(ctx, 3, func(l *lab.Lab) error {
		stop, err := l.Balance(ctx, vip, 6443, l.Machines...)
		if err != nil {
			return err
		}
		defer stop()
		return job(l)
	})
}

func loseThree(ctx context.Context, e *Env, l *lab.Lab, stick string, s *saved) error {
	first := l.Machines[0]
	return e.inOrder([]part{
		{"survey", func() error { return e.survey(ctx, l.Machines...) }},
		{"bundle", func() error { return e.makeBundle(ctx, stick, threeControlPlanes()...) }},
		{"keys for the first host", func() error { return e.letIn(ctx, first, l.Machines[1:]...) }},
		{"install, on all three", func() error { return installAll(ctx, e, first, stick, 3) }},
		{"data, and a backup of the first host", func() error {
			if err := e.script(ctx, l.Machines[1], kubectl+"create configmap before --from-literal=word=before", kubectl+"create secret generic plain --from-literal=word=known"); err != nil {
				return err
			}
			return takenAway(ctx, e, first, s)
		}},
		{"a backup beside a living cluster is refused", func() error { return refusedBeside(ctx, e, first) }},
	})
}

// joinFresh lets a server in by the line that another one prints.
func joinFresh(ctx context.Context, e *Env, by, m lab.Machine, stick string) error {
	if err := e.begin(ctx, m, stick); err != nil {
		return err
	}
	return joinOne(ctx, e, by, m)
}

// refusedBeside: a host that is in a cluster is not restored on.
func refusedBeside(ctx context.Context, e *Env, m lab.Machine) error {
	r, err := e.On(ctx, m, "", "sh", "-c", restoreCommand("$(ls -d /var/lib/airgap/backup/* | tail -n 1) --allow-unsigned"))
	if err != nil {
		return err
	}
	return r.want("restore on a host of a cluster", 1, "installed, or begun to install, this host already", "airgap reset")
}

func haveBackElsewhere(ctx context.Context, e *Env, l *lab.Lab, stick string, s saved) error {
	first, second, third := l.Machines[0], l.Machines[1], l.Machines[2]
	from := s.encrypted()
	var done restored
	return e.inOrder([]part{
		{"the backup, on the second host", func() error {
			return bringSaved(ctx, e, second, s)
		}},
		{"the program, from the stick", func() error { return e.begin(ctx, second, stick) }},
		{"restore", func() (err error) { done, err = restoreOn(ctx, e, second, from); return err }},
		{"the others are missing", func() error {
			if strings.Join(done.Lost, " ") != "node1 node3" || len(done.Join) != 2 {
				return fmt.Errorf("restore says %+v, want node1 and node3 to be lost", done)
			}
			return members(ctx, e, second, 1)
		}},
		{"the first host joins the second", func() error { return joinAgain(ctx, e, first, stick, done) }},
		{"so does the third", func() error { return joinFresh(ctx, e, first, third, stick) }},
		{"three of all", func() error { return threeOfAll(ctx, e, l.Machines) }},
		{"the data of then", func() error {
			return e.script(ctx, first, "[ $("+kubectl+"get configmap before -o jsonpath={.data.word}) = before ]", "[ $("+kubectl+"get secret plain -o jsonpath={.data.word} | base64 -d) = known ]")
		}},
		{"verify, on two hosts", func() error {
			if err := e.verified(ctx, first); err != nil {
				return err
			}
			return e.verified(ctx, second)
		}},
		{"a restore beside a living cluster is refused", func() error { return refusedBehind(ctx, e, second, from) }},
	})
}

// refusedBehind takes a host out and restores on it while the cluster lives.
func refusedBehind(ctx context.Context, e *Env, second lab.Machine, from string) error {
	if _, err := e.must(ctx, second, []string{"taken back"}, "airgap", "reset", "--yes", "--wipe-data"); err != nil {
		return err
	}
	r, err := e.On(ctx, second, "", strings.Fields(restoreCommand(from))...)
	if err != nil {
		return err
	}
	if err := r.want("restore behind a living balancer", 1, "an API server answers at 10.88.0.5:6443", "airgap join brings a host back"); err != nil {
		return err
	}
	return unbegun(ctx, e, second)
}
