package scenario

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/secrets"
)

// twoControlPlanes make the lab's airgap.yaml one of two control-plane hosts behind
// a balancer.
func twoControlPlanes() []string {
	return []string{
		`  version: "1.36.3"`, `  version: "1.36.3"` + "\n  controlPlaneEndpoint: " + netip.AddrPortFrom(vip, 6443).String(),
		"address: 10.88.0.12, roles: [worker]", "address: 10.88.0.12, roles: [control-plane]",
	}
}

// restoreElsewhere loses two control-plane hosts and restores on the second one, from
// the first one's backup; the first one joins it.
func restoreElsewhere(ctx context.Context, e *Env) error {
	e.rules = append(e.rules, secrets.Rule{Path: savedDir + "/**", Kinds: []secrets.Kind{secrets.Key, secrets.Code, secrets.EncryptionKey}, Mode: 0o600, Why: "a copy of a backup"})
	stick := filepath.Join(e.Work, "stick")
	var s saved
	if err := e.balanced(ctx, func(l *lab.Lab) error { return e.loseTwo(ctx, l, stick, &s) }); err != nil {
		return err
	}
	return e.balanced(ctx, func(l *lab.Lab) error { return e.haveBackElsewhere(ctx, l, stick, s) })
}

// balanced is a job on two servers behind a balancer.
func (e *Env) balanced(ctx context.Context, job func(*lab.Lab) error) error {
	return e.Bank(ctx, 2, func(l *lab.Lab) error {
		stop, err := l.Balance(ctx, vip, 6443, l.Machines...)
		if err != nil {
			return err
		}
		defer stop()
		return job(l)
	})
}

func (e *Env) loseTwo(ctx context.Context, l *lab.Lab, stick string, s *saved) error {
	first, second := l.Machines[0], l.Machines[1]
	return e.inOrder([]part{
		{"survey", func() error { return e.survey(ctx, l.Machines...) }},
		{"bundle", func() error { return e.makeBundle(ctx, stick, twoControlPlanes()...) }},
		{"install", func() error { return e.installed(ctx, first, stick) }},
		{"the second host joins", func() error { return e.join(ctx, first, second, stick) }},
		{"data, and a backup of the first host", func() error {
			if err := e.script(ctx, second, kubectl+"create configmap before --from-literal=word=before", kubectl+"create secret generic plain --from-literal=word=known"); err != nil {
				return err
			}
			return e.takenAway(ctx, first, s)
		}},
		{"a backup beside a living cluster is refused", func() error { return e.refusedBeside(ctx, second, stick) }},
	})
}

// refusedBeside: a host that is in a cluster is not restored on.
func (e *Env) refusedBeside(ctx context.Context, m lab.Machine, stick string) error {
	if err := m.AttachStick(ctx, stick); err != nil {
		return err
	}
	r, err := e.On(ctx, m, "", "sh", "-c", restoreCommand("$(ls -d /var/lib/airgap/backup/* | tail -n 1)"))
	if err != nil {
		return err
	}
	return r.want("restore on a host of a cluster", 1, "installed, or begun to install, this host already", "airgap reset")
}

func (e *Env) haveBackElsewhere(ctx context.Context, l *lab.Lab, stick string, s saved) error {
	first, second := l.Machines[0], l.Machines[1]
	from := savedDir + "/" + s.name
	var done restored
	return e.inOrder([]part{
		{"the backup, on the second host", func() error {
			return second.Exec(ctx, lab.Cmd{Args: []string{"sh", "-c", "umask 077; mkdir " + savedDir + " && tar -C " + savedDir + " -x"}, Stdin: bytes.NewReader(s.archive)})
		}},
		{"the program, from the stick", func() error { return e.begin(ctx, second, stick) }},
		{"restore", func() (err error) { done, err = e.restoreOn(ctx, second, from); return err }},
		{"the first host is missing", func() error {
			if strings.Join(done.Lost, " ") != "node1" || len(done.Join) != 1 {
				return fmt.Errorf("restore says %+v, want node1 to be lost", done)
			}
			return e.members(ctx, second, 1)
		}},
		{"it joins the second one", func() error { return e.joinAnew(ctx, first, stick, done) }},
		{"two of all", func() error {
			if err := e.members(ctx, first, 2); err != nil {
				return err
			}
			return e.sameKeys(ctx, l.Machines)
		}},
		{"the data of then", func() error {
			return e.script(ctx, first, "[ $("+kubectl+"get configmap before -o jsonpath={.data.word}) = before ]", "[ $("+kubectl+"get secret plain -o jsonpath={.data.word} | base64 -d) = known ]")
		}},
		{"verify, on either host", func() error {
			if err := e.verified(ctx, first); err != nil {
				return err
			}
			return e.verified(ctx, second)
		}},
		{"a restore beside a living cluster is refused", func() error { return e.refusedBehind(ctx, second, from) }},
	})
}

// refusedBehind takes a host out and restores on it while the cluster lives.
func (e *Env) refusedBehind(ctx context.Context, second lab.Machine, from string) error {
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
	return e.unbegun(ctx, second)
}
