package upgrade

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
	"airgap.dev/airgap/e2e/upstream"
)

// LostFirst loses the first control-plane host in the middle of an upgrade that it leads. Another one removes it, and
// continues the upgrade.
func LostFirst(ctx context.Context, e *scenario.Env) error {
	if err := upstream.BuildBefore(ctx, e.Cache, e.Log); err != nil {
		return err
	}
	return e.WithServers(ctx, 5, func(l *lab.Lab) error {
		stop, err := l.Balance(ctx, scenario.Vip, 6443, l.Machines[:3]...)
		if err != nil {
			return err
		}
		defer stop() // the balancer ends with this process at the latest
		others := *l
		others.Machines = l.Machines[1:]
		u, after := Upgrading{E: e, L: l, Edits: scenario.HaEdits()}, Upgrading{E: e, L: &others}
		lost := losing{e, &u, &after}
		return e.InOrder([]scenario.Part{
			{Title: "a cluster of Kubernetes 1.35", Run: func() error { return u.cluster(ctx) }},
			{Title: "the next bundle", Run: func() error { return u.NextBundle(ctx) }},
			{Title: "the first host is lost while it upgrades the third", Run: func() error { return lost.lose(ctx) }},
			{Title: "another host names the way out", Run: func() error { return lost.namesWayOut(ctx) }},
			{Title: "the lost host is removed", Run: func() error { return lost.remove(ctx) }},
			{Title: "another host continues the upgrade", Run: func() error { return lost.goesOn(ctx) }},
			{Title: "every host has the new versions", Run: func() error { return after.versions(ctx, "1.36.3", "2.3.7") }},
			{Title: "verify", Run: func() error { return e.Verified(ctx, after.first()) }},
			{Title: "the lost host is switched on, for the search for secrets", Run: func() error { return lost.before.first().Start(ctx) }},
		})
	})
}

// losing is an upgrade whose first host is lost: the cluster before, and without the host.
type losing struct {
	*scenario.Env

	before, after *Upgrading
}

// lose cuts the power of the first host when the third one is drained. The second one is upgraded by then.
func (l *losing) lose(ctx context.Context) error {
	second, third := l.before.L.Machines[1], l.before.L.Machines[2].Name()
	if err := l.Script(ctx, l.before.first(), "systemd-run --quiet --unit=operator "+strings.Join(Command(), " ")); err != nil {
		return err
	}
	turn := scenario.Kubectl + "get node " + third + ` -o jsonpath='{.metadata.annotations.airgap\.dev/upgrade}' | grep -q .`
	if err := l.Script(ctx, second, "for i in $(seq 3600); do "+turn+" && exit 0; sleep 0.5; done; exit 1"); err != nil {
		log, logErr := lab.Output(ctx, l.before.first(), "journalctl", "--no-pager", "--unit=operator", "--lines=50")
		return errors.Join(fmt.Errorf("wait for the turn of %s: %w\n%s", third, err, log), logErr)
	}
	if err := l.before.first().Kill(ctx); err != nil {
		return err
	}
	return l.Script(ctx, second, scenario.Kubectl+"wait node "+l.before.first().Name()+" --for=condition=Ready=Unknown --timeout=180s")
}

// namesWayOut gives the next host the stick and keys for the others. Its upgrade must be refused before the lost host is
// removed.
func (l *losing) namesWayOut(ctx context.Context) error {
	if err := errors.Join(l.after.first().AttachStick(ctx, l.before.next), l.AuthorizeKeys(ctx, l.after.first(), l.after.L.Machines[1:]...)); err != nil {
		return err
	}
	r, err := l.On(ctx, l.after.first(), "", Command()...)
	if err != nil {
		return err
	}
	return r.Want("upgrade on the second host", 1, "this host is not the first control-plane host, node1", "airgap remove node1 --force")
}

func (l *losing) remove(ctx context.Context) error {
	_, err := l.Must(ctx, l.after.first(), []string{l.before.first().Name() + ": removed"}, "airgap", "remove", l.before.first().Name(), "--force", "--yes", scenario.LabSkips, "--progress", "plain")
	return errors.Join(err, l.Script(ctx, l.after.first(), scenario.IsGone("node "+l.before.first().Name())))
}

// goesOn runs the command of the first host. Hosts that it upgraded are not upgraded again.
func (l *losing) goesOn(ctx context.Context) error {
	const began = `grep -c '"step":"kubelet-upgrade","event":"began"' /var/lib/airgap/journal.jsonl || true`
	before, err := lab.Output(ctx, l.after.first(), "sh", "-c", began)
	if err != nil {
		return err
	}
	if err := l.after.from(ctx, "1.35.8", "1.36.3"); err != nil {
		return err
	}
	after, err := lab.Output(ctx, l.after.first(), "sh", "-c", began)
	if err == nil && after != before {
		err = fmt.Errorf("%s began the upgrade of its kubelet %s times, %s before the loss of the first host", l.after.first().Name(), after, before)
	}
	return err
}
