// Package upgrade has the scenarios of upgrades and of the way back.
package upgrade

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
	"airgap.dev/airgap/e2e/scenario/kills"
	"airgap.dev/airgap/e2e/scenario/runtimes"
	"airgap.dev/airgap/e2e/upstream"
)

//go:embed upgrade.yaml
var shopYAML string

//go:embed upgrade.py
var shoppersPY string

// lostShare is how many of the requests to a workload of three pods, of which one may
// be away, an upgrade may lose.
const lostShare = 0.001

// longestSilence is how many seconds it may get no answer: one request that is lost, and
// the next one that waits.
const longestSilence = 5.0

// Upgrade takes a cluster of three control-plane hosts and two workers, with a
// workload that is being asked all the time, to the next minor of Kubernetes and to
// another line of containerd.
func Upgrade(ctx context.Context, e *scenario.Env) error {
	if err := upstream.BuildBefore(ctx, e.Cache, e.Log); err != nil {
		return err
	}
	return e.Bank(ctx, 5, func(l *lab.Lab) error {
		first := l.Machines[0]
		stop, err := l.Balance(ctx, scenario.Vip, 6443, l.Machines[:3]...)
		if err != nil {
			return err
		}
		defer stop() // it ends with this process at the latest
		u := Upgrading{E: e, L: l, Edits: scenario.HaEdits()}
		return e.InOrder([]scenario.Part{
			{Title: "a cluster of Kubernetes 1.35", Run: func() error { return u.cluster(ctx) }},
			{Title: "the next bundle, by what the servers have now", Run: func() error { return u.NextBundle(ctx) }},
			{Title: "install is not the way", Run: func() error { return noInstall(ctx, &u) }},
			{Title: "an etcd that is full", Run: func() error { return fullEtcd(ctx, &u) }},
			{Title: "no room for the backup of before", Run: func() error { return noRoom(ctx, &u) }},
			{Title: "a workload", Run: func() error { return u.shop(ctx) }},
			{Title: "a budget that never allows", Run: func() error { return neverAllows(ctx, &u) }},
			{Title: "webhooks that nobody answers", Run: func() error { return deadWebhooks(ctx, &u) }},
			{Title: "dry run", Run: func() error { return u.rehearsed(ctx) }},
			{Title: "broken off before other hosts are prepared", Run: func() error { return u.forgotten(ctx) }},
			{Title: "killed while another host is at work", Run: func() error { return u.killedAtWork(ctx) }},
			{Title: "taken back, half-way", Run: func() error { return u.halfBack(ctx) }},
			{Title: "those who ask the workload", Run: func() error { return u.askers(ctx) }},
			{Title: "upgrade, killed while another host is at work", Run: func() error { return u.killedAtWork(ctx) }},
			{Title: "upgrade, by the same command", Run: func() error { return u.upgrade(ctx) }},
			{Title: "one host after the other, drained and compared", Run: func() error { return u.inTurn(ctx) }},
			{Title: "no request beyond its budget was lost", Run: func() error { return u.asked(ctx) }},
			{Title: "every host has the new versions", Run: func() error { return u.versions(ctx, "1.36.3", "2.3.7") }},
			{Title: "verify", Run: func() error { return e.Verified(ctx, first) }},
			{Title: "once more changes nothing", Run: func() error { return u.again(ctx) }},
			{Title: "what it was before is kept three times", Run: func() error { return u.kept(ctx) }},
			{Title: "an authority is replaced afterwards", Run: func() error { return u.rotated(ctx) }},
			{Title: "the backup from before is damaged, and another host has a copy", Run: func() error { return u.damagedBefore(ctx) }},
			{Title: "taken back, all of it", Run: func() error { return u.allBack(ctx) }},
		})
	})
}

// Upgrading is a cluster that is upgraded.
type Upgrading struct {
	E     *scenario.Env
	L     *lab.Lab
	Edits []string // of the lab's airgap.yaml, for the hosts
	next  string   // the stick with the next bundle
	base  string   // the stick with the bundle that it is a delta against; "" is a whole one
	said  string   // by the upgrade that came to its end

	backupKey string // fingerprint of the key of the host that the first one has a copy of its backup from
}

func (u *Upgrading) first() lab.Machine { return u.L.Machines[0] }

// cluster installs Kubernetes 1.35 on all servers, with containerd 1.7.
func (u *Upgrading) cluster(ctx context.Context) error {
	e, stick := u.E, filepath.Join(u.E.Work, "stick")
	if err := errors.Join(e.Survey(ctx, u.L.Machines...), e.MakeBundle(ctx, stick, append(u.Edits, runtimes.Containerd1Edits()...)...)); err != nil {
		return err
	}
	if err := errors.Join(e.LetIn(ctx, u.first(), u.L.Machines[1:]...), e.Begin(ctx, u.first(), stick)); err != nil {
		return err
	}
	if _, err := e.Must(ctx, u.first(), []string{"the cluster is verified"}, scenario.FleetInstall()...); err != nil {
		return err
	}
	return u.versions(ctx, "1.35.8", "1.7.35")
}

// versions wants every node to have these, of Kubernetes and of containerd.
func (u *Upgrading) versions(ctx context.Context, kubernetes, containerd string) error {
	const list = scenario.Kubectl + `get nodes -o jsonpath='{range .items[*]}{.status.nodeInfo.kubeletVersion} {.status.nodeInfo.containerRuntimeVersion} {.spec.unschedulable}{"\n"}{end}'`
	return u.E.Script(ctx, u.first(),
		fmt.Sprintf(list+` | sed 's|//v|//|' | grep -cx 'v%s containerd://%s ' | grep -qx %d`, kubernetes, containerd, len(u.L.Machines)),
		fmt.Sprintf(scenario.Kubectl+`-n kube-system get pods -l tier=control-plane -o jsonpath='{range .items[*]}{.spec.containers[0].image}{"\n"}{end}' | grep kube- | grep -vc ':v%s$' | grep -qx 0`, kubernetes),
		fmt.Sprintf(scenario.Kubectl+`-n kube-system rollout status ds/kube-proxy --timeout=60s && `+scenario.Kubectl+`-n kube-system get ds kube-proxy -o jsonpath={.spec.template.spec.containers[0].image} | grep -q ':v%s$'`, kubernetes))
}

// shop is a workload of which one pod may be away, and a desk in front of it on each worker.
func (u *Upgrading) shop(ctx context.Context) error {
	r, err := u.E.On(ctx, u.first(), shopYAML, "sh", "-c", scenario.Kubectl+"apply -f -")
	if err != nil {
		return err
	}
	if err := r.Want("apply the shop", 0); err != nil {
		return err
	}
	return u.E.Script(ctx, u.first(), scenario.Kubectl+"rollout status deploy/shop --timeout=120s", scenario.Kubectl+"rollout status deploy/desk --timeout=120s")
}

// askers is a program on the first server that asks the shop ten times a second by its Service.
func (u *Upgrading) askers(ctx context.Context) error {
	r, err := u.E.On(ctx, u.first(), shoppersPY, "sh", "-c", "cat >/run/shoppers.py; systemd-run --quiet --unit=shoppers python3 /run/shoppers.py $("+scenario.Kubectl+"get svc shop -o jsonpath={.spec.clusterIP}) /run/shoppers.json")
	if err != nil {
		return err
	}
	return r.Want("ask the shop", 0)
}

// Command returns the command that upgrades from the stick.
func Command(options ...string) []string {
	return append([]string{"airgap", "upgrade", scenario.LabSkips, "--progress", "plain", lab.StickPath + "/bank"}, options...)
}

func (u *Upgrading) rollbackCommand() []string {
	command := []string{"airgap", "rollback", "--yes", scenario.LabSkips, "--progress", "plain"}
	if u.backupKey != "" {
		command = append(command, "--backup-key", u.backupKey)
	}
	return command
}

func (u *Upgrading) rehearsed(ctx context.Context) error {
	_, err := u.E.Must(ctx, u.first(), []string{"1.35.8 → 1.36.3", "one host after the other: node1, node2", "airgap rollback restores Kubernetes 1.35.8", "nothing was changed, except that the other hosts now have this bundle's airgap.rpm"}, Command("--dry-run")...)
	return errors.Join(err, untouched(ctx, u))
}

// forgotten takes an upgrade back that the other control-plane hosts have not heard of.
func (u *Upgrading) forgotten(ctx context.Context) error {
	if err := u.killedWhen(ctx, `grep -c '"step":"store","event":"began"' /var/lib/airgap/journal.jsonl`); err != nil {
		return err
	}
	_, err := u.E.Must(ctx, u.first(), []string{"rolled back to Kubernetes 1.35.8"}, u.rollbackCommand()...)
	for _, m := range u.L.Machines[1:3] {
		err = errors.Join(err, u.E.Script(ctx, m, "! test -e "+upgradeDir, "test $(ls /var/lib/airgap/store/*/bundle.json | wc -l) = 1"))
	}
	return errors.Join(err, u.versions(ctx, "1.35.8", "1.7.35"))
}

// halfBack takes an upgrade back of which one control-plane host has come to its end and
// another is during its own part. While that is under way, airgap upgrade is refused.
func (u *Upgrading) halfBack(ctx context.Context) error {
	if err := u.endedWhen(ctx, `grep -c '"step":"rollback-begins","event":"ended"' /var/lib/airgap/journal.jsonl`, u.rollbackCommand()...); err != nil {
		return err
	}
	r, err := u.E.On(ctx, u.first(), "", Command()...)
	if err != nil {
		return err
	}
	if err := r.Want("upgrade during a rollback", 1, "the rollback of the upgrade to bundle bank", "is not finished", "finish the rollback: airgap rollback"); err != nil {
		return err
	}
	return u.back(ctx)
}

// back takes the upgrade back, to its end, and wants the shop to be open.
func (u *Upgrading) back(ctx context.Context) error {
	return errors.Join(
		u.backTo(ctx, "1.35.8", "1.7.35"),
		u.E.Script(ctx, u.first(), scenario.Kubectl+"rollout status deploy/shop --timeout=120s"),
		u.E.Verified(ctx, u.first()))
}

// killedAtWork ends the upgrade by kill -9 when the second host has been drained and has
// begun with its own part, which it is left at.
func (u *Upgrading) killedAtWork(ctx context.Context) error {
	const turn = scenario.Kubectl + `get node node2 -o jsonpath='{.metadata.annotations.airgap\.dev/upgrade}' | grep -c .`
	if err := u.killedWhen(ctx, turn); err != nil {
		return err
	}
	const of = ` '"step":"upgrade-node2","event":"%s"' /var/lib/airgap/journal.jsonl`
	return u.E.Script(ctx, u.first(), "grep -q"+fmt.Sprintf(of, "began"), "! grep -q"+fmt.Sprintf(of, "ended"))
}

func (u *Upgrading) upgrade(ctx context.Context, words ...string) error {
	return u.from(ctx, "1.35.8", "1.36.3", words...)
}

// from upgrades, from one version of Kubernetes to another.
func (u *Upgrading) from(ctx context.Context, version, next string, words ...string) error {
	r, err := u.E.On(ctx, u.first(), "", Command()...)
	if err != nil {
		return err
	}
	fmt.Fprint(u.E.Log, r.Stderr)
	u.said = r.Stderr
	return r.Want("upgrade", 0, append(words, fmt.Sprintf("upgraded from Kubernetes %s to %s and verified", version, next))...)
}

// inTurn wants the cluster to have been compared after each host, before the next one's
// turn, and both workers to have been drained: on each was a pod of the desk.
func (u *Upgrading) inTurn(ctx context.Context) error {
	entries, err := kills.Journal(ctx, u.first())
	if err != nil {
		return err
	}
	var turns []string
	for _, j := range entries {
		if j.Event == "ended" && j.Step == "rolled-back" {
			turns = nil // of an upgrade that was taken back
		}
		if j.Event == "ended" && (strings.HasPrefix(j.Step, "upgrade-node") || strings.HasPrefix(j.Step, "compare-")) {
			turns = append(turns, j.Step)
		}
	}
	want := []string{"compare-node1"}
	for _, m := range u.L.Machines[1:] {
		want = append(want, "upgrade-"+m.Name(), "compare-"+m.Name())
	}
	if want = append(want, "compare-"); !slices.Equal(turns, want) {
		return fmt.Errorf("the journal has %q, want %q", turns, want)
	}
	for _, worker := range u.L.Machines[3:] {
		if left := regexp.MustCompile(`pod default/desk-\S+ has left ` + worker.Name()); !left.MatchString(u.said) {
			return fmt.Errorf("no pod of the desk has left %s:\n%s", worker.Name(), u.said)
		}
	}
	return nil
}

// kept wants each control-plane host to have the control plane as it was, whole by
// others' word.
func (u *Upgrading) kept(ctx context.Context) error {
	const before = "cd " + upgradeDir + "/before-*/*/ && "
	for _, m := range u.L.Machines[:3] {
		if err := u.E.Script(ctx, m,
			before+"grep -q '  etcd.db$' SHA256SUMS && sha256sum --check --strict --quiet SHA256SUMS",
			before+"for file in etcd.db etc/kubernetes/admin.conf etc/kubernetes/pki/ca.key etc/airgap/pki/ca.key; do test -s $file || exit 1; done",
			before+"grep -q ':v1.35.8$' etc/kubernetes/manifests/kube-apiserver.yaml",
		); err != nil {
			return err
		}
	}
	return nil
}

// damagedBefore spoils the first host's backup: rollback says so before it changes anything, and
// takes the copy that another control-plane host has, once that lies in its place and its key is
// named.
func (u *Upgrading) damagedBefore(ctx context.Context) error {
	first, second := u.first(), u.L.Machines[1]
	const kept, whole = upgradeDir + "/before-*/*/", "cd " + upgradeDir + " && "
	if err := u.E.Script(ctx, first, "printf damage | dd of=$(echo "+kept+"etcd.db) bs=1 seek=5000 conv=notrunc status=none"); err != nil {
		return err
	}
	r, err := u.E.On(ctx, first, "", u.rollbackCommand()...)
	if err != nil {
		return err
	}
	if err := r.Want("rollback by a damaged backup", 1, "etcd.db", "each other control-plane host has its own backup", upgradeDir+"/before-"); err != nil {
		return err
	}
	if err := u.versions(ctx, "1.36.3", "2.3.7"); err != nil {
		return err
	}
	var copied bytes.Buffer
	if err := second.Exec(ctx, lab.Cmd{Args: []string{"sh", "-c", whole + "tar c before-*"}, Stdout: &copied}); err != nil {
		return err
	}
	if err := first.Exec(ctx, lab.Cmd{Args: []string{"sh", "-c", whole + "rm -r before-* && tar x"}, Stdin: &copied}); err != nil {
		return err
	}
	if r, err = u.E.On(ctx, first, "", u.rollbackCommand()...); err != nil {
		return err
	}
	if err := r.Want("rollback by another host's backup", 1, "it is signed with key SHA256:", "airgap rollback --backup-key"); err != nil {
		return err
	}
	key, err := lab.Output(ctx, second, "sh", "-c", "airgap status | sed -n 's/^signed by //p'")
	u.backupKey = strings.TrimSpace(key)
	return err
}

// rotated replaces an authority: what the other control-plane hosts keep of the upgrade
// must not make them refuse to follow.
func (u *Upgrading) rotated(ctx context.Context) error {
	_, err := u.E.Must(ctx, u.first(), []string{"node2", "node3", "this host does not trust the old one"}, "sh", "-c", "airgap certs rotate-ca --only front-proxy 2>&1")
	return err
}

// asked ends the asking and counts what was lost.
func (u *Upgrading) asked(ctx context.Context) error {
	r, err := u.E.Must(ctx, u.first(), nil, "sh", "-c", "systemctl stop shoppers; cat /run/shoppers.json")
	if err != nil {
		return err
	}
	var said struct {
		Asked, Lost int
		Longest     float64 // seconds without an answer
		Errors      []string
	}
	if err := json.Unmarshal([]byte(r.Stdout), &said); err != nil {
		return err
	}
	fmt.Fprintf(u.E.Log, "%d requests, %d lost, at most %.1f s without an answer: %q\n", said.Asked, said.Lost, said.Longest, said.Errors)
	if said.Longest > longestSilence {
		return fmt.Errorf("nobody answered for %.1f s, want at most %.1f", said.Longest, longestSilence)
	}
	if said.Asked < 100 || float64(said.Lost) > lostShare*float64(said.Asked) {
		return fmt.Errorf("of %d requests %d were lost, want at most %.1f in a thousand: %q", said.Asked, said.Lost, 1000*lostShare, said.Errors)
	}
	return nil
}

// allBack takes an upgrade back that had come to its end. Till then the bundle of before
// is kept for it.
func (u *Upgrading) allBack(ctx context.Context) error {
	if err := u.E.Script(ctx, u.first(), scenario.Kubectl+"create configmap since --from-literal=a=b", "airgap registry prune --dry-run | grep -q 'airgap rollback goes back to it'"); err != nil {
		return err
	}
	return errors.Join(u.back(ctx), u.E.Script(ctx, u.first(), scenario.Gone("configmap since")))
}

func (u *Upgrading) again(ctx context.Context) error {
	began := time.Now()
	_, err := u.E.Must(ctx, u.first(), []string{"nothing to do: the cluster already runs bundle bank"}, Command()...)
	fmt.Fprintf(u.E.Log, "again: %.0f s\n", time.Since(began).Seconds())
	return err
}
