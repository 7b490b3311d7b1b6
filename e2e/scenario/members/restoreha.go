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

// threeControlPlanes returns the edits that give the lab's airgap.yaml three control-plane
// hosts behind a load balancer.
func threeControlPlanes() []string {
	return []string{
		`  version: "1.36.3"`, `  version: "1.36.3"` + "\n  controlPlaneEndpoint: " + netip.AddrPortFrom(scenario.Vip, 6443).String(),
		"address: 10.88.0.12, roles: [worker]}\n", "address: 10.88.0.12, roles: [control-plane]}\n  - {name: node3, address: 10.88.0.13, roles: [control-plane]}\nssh:\n  identityFile: ~/.ssh/bank\n",
	}
}

// RestoreOnOtherHost loses three control-plane hosts. It restores the first one's backup on the
// second one, and the others join that one.
func RestoreOnOtherHost(ctx context.Context, e *scenario.Env) error {
	e.Rules = append(e.Rules, secrets.Rule{Path: savedDir + "/**", Kinds: []secrets.Kind{secrets.Key, secrets.Code, secrets.EncryptionKey}, Mode: 0o600, Why: "a copy of a backup"})
	stick := filepath.Join(e.Work, "stick")
	var s saved
	if err := balanced(ctx, e, func(l *lab.Lab) error { return loseThree(ctx, e, l, stick, &s) }); err != nil {
		return err
	}
	return balanced(ctx, e, func(l *lab.Lab) error { return restoreOnSecond(ctx, e, l, stick, s) })
}

// balanced runs a job with three servers behind a load balancer.
func balanced(ctx context.Context, e *scenario.Env, job func(*lab.Lab) error) error {
	return e.WithServers(ctx, 3, func(l *lab.Lab) error {
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
		{Title: "keys for the first host", Run: func() error { return e.AuthorizeKeys(ctx, first, l.Machines[1:]...) }},
		{Title: "install, on all three", Run: func() error { return scenario.InstallAll(ctx, e, first, stick, 3) }},
		{Title: "data, and a backup of the first host", Run: func() error {
			if err := e.Script(ctx, l.Machines[1], scenario.Kubectl+"create configmap before --from-literal=word=before", scenario.Kubectl+"create secret generic plain --from-literal=word=known"); err != nil {
				return err
			}
			return saveBackups(ctx, e, first, s)
		}},
		{Title: "a restore on a host of a running cluster is refused", Run: func() error { return refusedOnMember(ctx, e, first) }},
	})
}

// joinFresh joins a fresh server with the command that another host prints.
func joinFresh(ctx context.Context, e *scenario.Env, by, m lab.Machine, stick string) error {
	if err := e.InstallProgram(ctx, m, stick); err != nil {
		return err
	}
	return scenario.JoinOne(ctx, e, by, m)
}

// refusedOnMember checks that airgap restore is refused on a host of a cluster.
func refusedOnMember(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	r, err := e.On(ctx, m, "", "sh", "-c", restoreCommand("$(ls -d /var/lib/airgap/backup/* | tail -n 1) --allow-unsigned"))
	if err != nil {
		return err
	}
	return r.Want("restore on a host of a cluster", 1, "airgap has installed this host, or started to install it", "airgap reset")
}

func restoreOnSecond(ctx context.Context, e *scenario.Env, l *lab.Lab, stick string, s saved) error {
	first, second, third := l.Machines[0], l.Machines[1], l.Machines[2]
	from := s.encrypted()
	var done restored
	return e.InOrder([]scenario.Part{
		{Title: "the backup, on the second host", Run: func() error {
			return copySaved(ctx, second, s)
		}},
		{Title: "the program, from the stick", Run: func() error { return e.InstallProgram(ctx, second, stick) }},
		{Title: "restore", Run: func() (err error) { done, err = restoreOn(ctx, e, second, from); return err }},
		{Title: "the others are missing", Run: func() error {
			if strings.Join(done.Lost, " ") != "node1 node3" || len(done.Join) != 2 {
				return fmt.Errorf("restore reports %+v, want the lost nodes node1 and node3", done)
			}
			return scenario.Members(ctx, e, second, 1)
		}},
		{Title: "the first host joins the second", Run: func() error { return joinAgain(ctx, e, first, stick, done) }},
		{Title: "the third host joins", Run: func() error { return joinFresh(ctx, e, first, third, stick) }},
		{Title: "three of each control-plane component", Run: func() error { return scenario.ThreeOfAll(ctx, e, l.Machines) }},
		{Title: "the data of the backup", Run: func() error {
			return e.Script(ctx, first, "[ $("+scenario.Kubectl+"get configmap before -o jsonpath={.data.word}) = before ]", "[ $("+scenario.Kubectl+"get secret plain -o jsonpath={.data.word} | base64 -d) = known ]")
		}},
		{Title: "verify, on two hosts", Run: func() error {
			if err := e.Verified(ctx, first); err != nil {
				return err
			}
			return e.Verified(ctx, second)
		}},
		{Title: "a restore next to a running cluster is refused", Run: func() error { return refusedNextToCluster(ctx, e, second, from) }},
	})
}

// refusedNextToCluster resets a host and checks that a restore on it is refused while the
// cluster runs on the other hosts.
func refusedNextToCluster(ctx context.Context, e *scenario.Env, second lab.Machine, from string) error {
	if _, err := e.Must(ctx, second, []string{"undone: "}, "airgap", "reset", "--yes", "--wipe-data"); err != nil {
		return err
	}
	r, err := e.On(ctx, second, "", strings.Fields(restoreCommand(from))...)
	if err != nil {
		return err
	}
	if err := r.Want("restore next to a running cluster", 1, "an API server answers at 10.88.0.5:6443", "to bring a host back into a running cluster, use airgap join"); err != nil {
		return err
	}
	return notStarted(ctx, e, second)
}
