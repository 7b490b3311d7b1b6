// Package fleet installs nine servers with one command, while six of them fail in different ways, the operator's
// session is lost, and a second operator works at the same time.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"time"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
)

// servers of the scenario: three control-plane hosts, one of them behind a jump host, and six workers with a fault.
const (
	hungSudo     = 2
	hungHome     = 3
	wrongLogin   = 4
	otherSudo    = 5
	fullDisk     = 6
	dead         = 7
	behindJump   = 8
	servers      = 9
	passwordFile = "/root/passwords" // on the first host
)

// edits change the lab's airgap.yaml.
func edits() []string {
	return []string{
		`  version: "1.36.3"`, `  version: "1.36.3"` + "\n  controlPlaneEndpoint: " + netip.AddrPortFrom(scenario.Vip, 6443).String(),
		"  - {name: node2, address: 10.88.0.12, roles: [worker]}\n", `  - {name: node2, address: 10.88.0.12, roles: [control-plane]}
  - {name: node3, address: 10.88.0.13, roles: [worker], ssh: {user: ops}}
  - {name: node4, address: 10.88.0.14, roles: [worker], ssh: {user: clerk}}
  - {name: node5, address: 10.88.0.15, roles: [worker], ssh: {user: clerk}}
  - {name: node6, address: 10.88.0.16, roles: [worker], ssh: {user: ops}}
  - {name: node7, address: 10.88.0.17, roles: [worker]}
  - {name: node8, address: 10.88.0.18, roles: [worker]}
  - {name: node9, address: 10.88.0.19, roles: [control-plane], ssh: {proxyJump: [root@10.88.0.12]}}
ssh:
  identityFile: ~/.ssh/bank
  passwordFile: ` + passwordFile + `
  parallel: 8
`,
	}
}

// fleet is the servers with their faults.
type fleet struct {
	*scenario.Env

	l      *lab.Lab
	faults []fault
}

func (f *fleet) first() lab.Machine  { return f.l.Machines[0] }
func (f *fleet) second() lab.Machine { return f.l.Machines[1] }

// Fleet is the scenario.
func Fleet(ctx context.Context, e *scenario.Env) error {
	if err := e.RoomForDisks(); err != nil {
		return err
	}
	stick := filepath.Join(e.Work, "stick")
	return e.WithServers(ctx, servers, func(l *lab.Lab) error {
		f := &fleet{Env: e, l: l, faults: faults()}
		stop, err := l.Balance(ctx, scenario.Vip, 6443, f.first(), f.second(), l.Machines[behindJump])
		if err != nil {
			return err
		}
		defer stop() // the balancer ends with this process at the latest
		return e.InOrder([]scenario.Part{
			{Title: "accounts, a jump host", Run: func() error { return f.accounts(ctx) }},
			{Title: "survey", Run: func() error { return e.Survey(ctx, l.Machines...) }},
			{Title: "bundle", Run: func() error { return e.MakeBundle(ctx, stick, edits()...) }},
			{Title: "the program, from the stick", Run: func() error { return e.InstallProgram(ctx, f.first(), stick) }},
			{Title: "the faults", Run: func() error { return f.breakAll(ctx) }},
			{Title: "every cause is named, nothing is changed", Run: func() error { return f.refused(ctx) }},
			{Title: "the operator and a server are lost", Run: func() error { return f.operatorLost(ctx) }},
			{Title: "the healthy servers are installed", Run: func() error { return f.withoutSix(ctx) }},
			{Title: "status and verify know the others", Run: func() error { return f.owedIsKnown(ctx) }},
			{Title: "the repairs", Run: func() error { return f.repairAll(ctx) }},
			{Title: "the same command, next to a second operator", Run: func() error { return f.pickedUp(ctx) }},
			{Title: "it changes nothing the second time", Run: func() error { return f.again(ctx) }},
			{Title: "verify", Run: func() error { return e.Verified(ctx, f.first()) }},
			{Title: "a workload", Run: func() error { return e.Workload(ctx, f.first()) }},
			{Title: "support bundles of all servers", Run: func() error { return f.supported(ctx) }},
			{Title: "two workers are removed together", Run: func() error { return f.removesTwo(ctx) }},
			{Title: "all servers are reset, the first one last", Run: func() error { return f.resets(ctx) }},
		})
	})
}

// command is the command of the operator, which never changes.
func command() []string {
	return scenario.WithDisks(scenario.InstallOverSSH("--max-failures", "6"))
}

// refused checks that install without --max-failures names the cause of each login that fails, and changes nothing.
func (f *fleet) refused(ctx context.Context) error {
	r, err := f.On(ctx, f.first(), "", scenario.WithDisks(scenario.InstallOverSSH())...)
	if err != nil {
		return err
	}
	if err := errors.Join(r.Want("install with faulty servers", 1, "other hosts: login failed"), f.names(r, hungSudo, hungHome, wrongLogin, otherSudo)); err != nil {
		return err
	}
	for _, m := range f.l.Machines {
		if err := f.Script(ctx, m, "! test -e /var/lib/airgap/journal.jsonl", "! test -e /opt/airgap"); err != nil {
			return err
		}
	}
	return nil
}

// withoutSix repeats the command without its operator's session: it follows the work that goes on, and leaves the
// faulty servers out.
func (f *fleet) withoutSix(ctx context.Context) error {
	r, err := f.On(ctx, f.first(), "", command()...)
	if err != nil {
		return err
	}
	fmt.Fprint(f.Log, r.Stderr, r.Stdout)
	return errors.Join(r.Want("install without six servers", 5, "the cluster is verified, without the hosts that are left out", "run the same command again"),
		f.names(r, hungSudo, hungHome, wrongLogin, otherSudo, fullDisk, dead),
		f.owes(ctx, hungSudo, hungHome, wrongLogin, otherSudo, fullDisk, dead), f.hasNodes(ctx, 0, 1, behindJump))
}

// owedIsKnown checks that status and verify name the servers that are left out.
func (f *fleet) owedIsKnown(ctx context.Context) error {
	status, err := f.On(ctx, f.first(), "", "airgap", "status")
	if err != nil {
		return err
	}
	if !strings.Contains(status.Stdout, "airgap install DIR picks up ") {
		return fmt.Errorf("status does not name the command for the owed servers:\n%s%s", status.Stdout, status.Stderr)
	}
	verify, err := f.On(ctx, f.first(), "", "airgap", "verify", f.Skips(), "--only", "owed-hosts", "--timeout", "20s")
	if err != nil {
		return err
	}
	return errors.Join(f.names(status, wrongLogin, fullDisk), verify.Want("verify with six owed servers", 4), f.names(verify, wrongLogin, fullDisk))
}

// pickedUp repeats the command after the repairs. Meanwhile an operator on the other control-plane host is refused.
func (f *fleet) pickedUp(ctx context.Context) error {
	type ended struct {
		scenario.Result
		err error
	}
	done := make(chan ended, 1)
	go func() {
		r, err := f.On(ctx, f.first(), "", command()...)
		done <- ended{r, err}
	}()
	refused := f.secondOperator(ctx)
	r := <-done
	if err := errors.Join(r.err, refused); err != nil {
		return fmt.Errorf("%w\nthe first operator's command:\n%s%s", err, r.Stdout, r.Stderr)
	}
	fmt.Fprint(f.Log, r.Stderr, r.Stdout)
	all := make([]int, servers)
	for i := range all {
		all[i] = i
	}
	return errors.Join(r.Want("install after the repairs", 0, fmt.Sprintf("the cluster is verified: %d nodes", servers)), f.owes(ctx), f.hasNodes(ctx, all...))
}

// secondOperator runs another command while the first operator's command has the cluster's Lease.
func (f *fleet) secondOperator(ctx context.Context) error {
	const held = scenario.Kubectl + "get lease -n kube-system airgap -o jsonpath={.spec.holderIdentity} | grep -q '@node1, airgap install'"
	if err := f.Script(ctx, f.second(), "for i in $(seq 300); do "+held+" && exit 0; sleep 1; done; exit 1"); err != nil {
		return fmt.Errorf("wait for the Lease of the first operator: %w", err)
	}
	for try := 0; ; try++ {
		r, err := f.On(ctx, f.second(), "", "airgap", "remove", f.l.Machines[behindJump].Name(), "--yes")
		if err != nil {
			return err
		}
		if try < 10 && strings.Contains(r.Stderr, "another airgap command is changing this host") { // the first operator's, for a moment
			time.Sleep(5 * time.Second)
			continue
		}
		return r.Want("remove by a second operator", 1, "root@node1 runs airgap install since", "and renews its Lease")
	}
}

// again checks that the command has nothing to do.
func (f *fleet) again(ctx context.Context) error {
	r, err := f.On(ctx, f.first(), "", command()...)
	if err != nil {
		return err
	}
	if err := r.Want("a second install", 0, "node1: nothing to do", "the cluster is verified: 9 nodes"); err != nil {
		return err
	}
	if strings.Contains(r.Stdout, "steps ran") {
		return fmt.Errorf("a second install changed a server:\n%s", r.Stdout)
	}
	return nil
}
