// Package upgrade has the scenarios of upgrades and rollbacks.
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
var requestsPY string

// failedShare is the largest share of requests that may fail during an upgrade. They go to a
// workload of three pods with a budget of one unavailable pod.
const failedShare = 0.001

// longestOutage is the longest allowed time without an answer, in seconds: one failed request, and
// the next one that waits.
const longestOutage = 5.0

// Upgrade upgrades a cluster of three control-plane hosts and two workers to the next minor
// of Kubernetes and another line of containerd. Requests to a workload run during the
// upgrade.
func Upgrade(ctx context.Context, e *scenario.Env) error {
	if err := e.RoomForDisks(); err != nil {
		return err
	}
	if err := upstream.BuildBefore(ctx, e.Cache, e.Log); err != nil {
		return err
	}
	return e.WithServers(ctx, 5, func(l *lab.Lab) error {
		first := l.Machines[0]
		stop, err := l.Balance(ctx, scenario.Vip, 6443, l.Machines[:3]...)
		if err != nil {
			return err
		}
		defer stop() // the balancer ends with this process at the latest
		u := Upgrading{E: e, L: l, Edits: scenario.HaEdits()}
		return e.InOrder([]scenario.Part{
			{Title: "a cluster of Kubernetes 1.35", Run: func() error { return u.cluster(ctx) }},
			{Title: "the next bundle, from the servers' present state", Run: func() error { return u.NextBundle(ctx) }},
			{Title: "install is refused", Run: func() error { return noInstall(ctx, &u) }},
			{Title: "a full etcd", Run: func() error { return fullEtcd(ctx, &u) }},
			{Title: "no disk space for the backup", Run: func() error { return noRoom(ctx, &u) }},
			{Title: "a workload", Run: func() error { return u.shop(ctx) }},
			{Title: "a budget that never allows", Run: func() error { return neverAllows(ctx, &u) }},
			{Title: "webhooks without a server", Run: func() error { return deadWebhooks(ctx, &u) }},
			{Title: "dry run", Run: func() error { return u.dryRun(ctx) }},
			{Title: "killed before other hosts are prepared", Run: func() error { return u.rollbackUnprepared(ctx) }},
			{Title: "killed during the upgrade of another host", Run: func() error { return u.killedDuringOther(ctx) }},
			{Title: "rollback of a partial upgrade", Run: func() error { return u.rollbackPartial(ctx) }},
			{Title: "a worker with the pod network in podman's directory", Run: func() error { return u.sharedDirectory(ctx) }},
			{Title: "requests to the workload", Run: func() error { return u.startRequests(ctx) }},
			{Title: "upgrade, killed during the upgrade of another host", Run: func() error { return u.killedDuringOther(ctx) }},
			{Title: "upgrade, by the same command", Run: func() error { return u.upgrade(ctx) }},
			{Title: "one host at a time, drained and compared", Run: func() error { return u.inTurn(ctx) }},
			{Title: "the share of failed requests is small", Run: func() error { return u.stopRequests(ctx) }},
			{Title: "every host has the new versions", Run: func() error { return u.versions(ctx, "1.36.3", "2.3.7") }},
			{Title: "the pod network is in airgap's directory", Run: func() error { return u.ownDirectory(ctx) }},
			{Title: "verify", Run: func() error { return e.Verified(ctx, first) }},
			{Title: "another upgrade changes nothing", Run: func() error { return u.upgradeAgain(ctx) }},
			{Title: "each control-plane host keeps a backup", Run: func() error { return u.backupsKept(ctx) }},
			{Title: "a CA is rotated afterwards", Run: func() error { return u.caRotated(ctx) }},
			{Title: "the backup from before is damaged, and another host has a copy", Run: func() error { return u.damagedBefore(ctx) }},
			{Title: "rollback of the full upgrade", Run: func() error { return u.rollbackFull(ctx) }},
		})
	})
}

// Upgrading is a cluster in a scenario of upgrades.
type Upgrading struct {
	E      *scenario.Env
	L      *lab.Lab
	Edits  []string // of the lab's airgap.yaml, for the hosts
	next   string   // the stick with the next bundle
	base   string   // the stick with the base of a delta; "" when next has a full bundle
	output string   // stderr of the last complete upgrade

	backupKey string // fingerprint of the key of another host, when the first one has that host's backup
}

func (u *Upgrading) first() lab.Machine { return u.L.Machines[0] }

// cluster installs Kubernetes 1.35 on all servers, with containerd 1.7.
func (u *Upgrading) cluster(ctx context.Context) error {
	e, stick := u.E, filepath.Join(u.E.Work, "stick")
	if err := errors.Join(e.Survey(ctx, u.L.Machines...), e.MakeBundle(ctx, stick, append(u.Edits, runtimes.Containerd1Edits()...)...)); err != nil {
		return err
	}
	if err := errors.Join(e.AuthorizeKeys(ctx, u.first(), u.L.Machines[1:]...), e.InstallProgram(ctx, u.first(), stick)); err != nil {
		return err
	}
	if _, err := e.Must(ctx, u.first(), []string{"the cluster is verified"}, scenario.InstallOverSSH()...); err != nil {
		return err
	}
	return u.versions(ctx, "1.35.8", "1.7.35")
}

// versions checks that every node has these versions of Kubernetes and containerd.
func (u *Upgrading) versions(ctx context.Context, kubernetes, containerd string) error {
	const list = scenario.Kubectl + `get nodes -o jsonpath='{range .items[*]}{.status.nodeInfo.kubeletVersion} {.status.nodeInfo.containerRuntimeVersion} {.spec.unschedulable}{"\n"}{end}'`
	return u.E.Script(ctx, u.first(),
		fmt.Sprintf(list+` | sed 's|//v|//|' | grep -cx 'v%s containerd://%s ' | grep -qx %d`, kubernetes, containerd, len(u.L.Machines)),
		fmt.Sprintf(scenario.Kubectl+`-n kube-system get pods -l tier=control-plane -o jsonpath='{range .items[*]}{.spec.containers[0].image}{"\n"}{end}' | grep kube- | grep -vc ':v%s$' | grep -qx 0`, kubernetes),
		fmt.Sprintf(scenario.Kubectl+`-n kube-system rollout status ds/kube-proxy --timeout=60s && `+scenario.Kubectl+`-n kube-system get ds kube-proxy -o jsonpath={.spec.template.spec.containers[0].image} | grep -q ':v%s$'`, kubernetes))
}

// shop applies a workload with a budget of one unavailable pod, and another workload, desk, with a
// pod on each worker.
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

// startRequests starts a program on the first server that sends ten requests a second to the shop's
// Service.
func (u *Upgrading) startRequests(ctx context.Context) error {
	r, err := u.E.On(ctx, u.first(), requestsPY, "sh", "-c", "cat >/run/shoppers.py; systemd-run --quiet --unit=shoppers python3 /run/shoppers.py $("+scenario.Kubectl+"get svc shop -o jsonpath={.spec.clusterIP}) /run/shoppers.json")
	if err != nil {
		return err
	}
	return r.Want("start the requests to the shop", 0)
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

func (u *Upgrading) dryRun(ctx context.Context) error {
	_, err := u.E.Must(ctx, u.first(), []string{"1.35.8 → 1.36.3", "in this order:", "1-3   node[1-3]  3      control plane, one by one", "4     node4      1      first worker, alone", "5     node5      1      alone", "airgap rollback restores Kubernetes 1.35.8", "nothing was changed, except that the other hosts now have this bundle's airgap.rpm"}, Command("--dry-run")...)
	return errors.Join(err, untouched(ctx, u))
}

// rollbackUnprepared rolls back an upgrade for which no other control-plane host was prepared.
func (u *Upgrading) rollbackUnprepared(ctx context.Context) error {
	if err := u.killedWhen(ctx, `grep -c '"step":"store","event":"began"' /var/lib/airgap/journal.jsonl`); err != nil {
		return err
	}
	_, err := u.E.Must(ctx, u.first(), []string{"rolled back to Kubernetes 1.35.8"}, u.rollbackCommand()...)
	for _, m := range u.L.Machines[1:3] {
		err = errors.Join(err, u.E.Script(ctx, m, "! test -e "+upgradeDir, "test $(ls /var/lib/airgap/store/*/bundle.json | wc -l) = 1"))
	}
	return errors.Join(err, u.versions(ctx, "1.35.8", "1.7.35"))
}

// rollbackPartial rolls back an upgrade that is complete on one control-plane host and runs on
// another. During the rollback, airgap upgrade must be refused.
func (u *Upgrading) rollbackPartial(ctx context.Context) error {
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
	return u.rollBack(ctx)
}

// rollBack rolls the upgrade back, and checks that the shop is available.
func (u *Upgrading) rollBack(ctx context.Context) error {
	return errors.Join(
		u.backTo(ctx, "1.35.8", "1.7.35"),
		u.E.Script(ctx, u.first(), scenario.Kubectl+"rollout status deploy/shop --timeout=120s"),
		u.E.Verified(ctx, u.first()))
}

// killedDuringOther kills the upgrade with kill -9 when the second host is drained and has begun
// its own part. That part continues.
func (u *Upgrading) killedDuringOther(ctx context.Context) error {
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

// from upgrades from one version of Kubernetes to another.
func (u *Upgrading) from(ctx context.Context, version, next string, words ...string) error {
	r, err := u.E.On(ctx, u.first(), "", Command()...)
	if err != nil {
		return err
	}
	fmt.Fprint(u.E.Log, r.Stderr)
	u.output = r.Stderr
	return r.Want("upgrade", 0, append(words, fmt.Sprintf("upgraded from Kubernetes %s to %s and verified", version, next))...)
}

// inTurn checks that the upgrade compared the cluster after each host, before the next one, and that
// it drained both workers: each had a pod of the desk.
func (u *Upgrading) inTurn(ctx context.Context) error {
	entries, err := kills.Journal(ctx, u.first())
	if err != nil {
		return err
	}
	var turns []string
	for _, j := range entries {
		if j.Event == "ended" && j.Step == "rolled-back" {
			turns = nil // these belong to an upgrade that was rolled back
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
		if left := regexp.MustCompile(`pod default/desk-\S+ has left ` + worker.Name()); !left.MatchString(u.output) {
			return fmt.Errorf("no pod of the desk has left %s:\n%s", worker.Name(), u.output)
		}
	}
	return nil
}

// backupsKept checks that each control-plane host has a complete backup of the control plane from before
// the upgrade. sha256sum checks its files.
func (u *Upgrading) backupsKept(ctx context.Context) error {
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

// damagedBefore damages the first host's backup: rollback must fail before it changes anything.
// Then another control-plane host's backup replaces it, which rollback must accept only with
// the fingerprint of that host's key.
func (u *Upgrading) damagedBefore(ctx context.Context) error {
	first, second := u.first(), u.L.Machines[1]
	const before, inDir = upgradeDir + "/before-*/*/", "cd " + upgradeDir + " && "
	if err := u.E.Script(ctx, first, "printf damage | dd of=$(echo "+before+"etcd.db) bs=1 seek=5000 conv=notrunc status=none"); err != nil {
		return err
	}
	r, err := u.E.On(ctx, first, "", u.rollbackCommand()...)
	if err != nil {
		return err
	}
	if err := r.Want("rollback from a damaged backup", 1, "etcd.db", "each other control-plane host has its own backup", upgradeDir+"/before-"); err != nil {
		return err
	}
	if err := u.versions(ctx, "1.36.3", "2.3.7"); err != nil {
		return err
	}
	var copied bytes.Buffer
	if err := second.Exec(ctx, lab.Cmd{Args: []string{"sh", "-c", inDir + "tar c before-*"}, Stdout: &copied}); err != nil {
		return err
	}
	if err := first.Exec(ctx, lab.Cmd{Args: []string{"sh", "-c", inDir + "rm -r before-* && tar x"}, Stdin: &copied}); err != nil {
		return err
	}
	if r, err = u.E.On(ctx, first, "", u.rollbackCommand()...); err != nil {
		return err
	}
	if err := r.Want("rollback from another host's backup", 1, "it is signed with key SHA256:", "airgap rollback --backup-key"); err != nil {
		return err
	}
	key, err := lab.Output(ctx, second, "sh", "-c", "airgap status | sed -n 's/^signed by //p'")
	u.backupKey = strings.TrimSpace(key)
	return err
}

// caRotated rotates a CA: the other control-plane hosts must take part, although they keep files of
// the upgrade.
func (u *Upgrading) caRotated(ctx context.Context) error {
	_, err := u.E.Must(ctx, u.first(), []string{"node2", "node3", "this host does not trust the old one"}, "sh", "-c", "airgap certs rotate-ca --only front-proxy 2>&1")
	return err
}

// stopRequests stops the requests, and checks how many of them failed.
func (u *Upgrading) stopRequests(ctx context.Context) error {
	r, err := u.E.Must(ctx, u.first(), nil, "sh", "-c", "systemctl stop shoppers; cat /run/shoppers.json")
	if err != nil {
		return err
	}
	var got struct {
		Requests, Failed int
		Longest          float64 // seconds without an answer
		Errors           []string
	}
	if err := json.Unmarshal([]byte(r.Stdout), &got); err != nil {
		return err
	}
	fmt.Fprintf(u.E.Log, "%d requests, %d failed, at most %.1f s without an answer: %q\n", got.Requests, got.Failed, got.Longest, got.Errors)
	if got.Longest > longestOutage {
		return fmt.Errorf("no answer for %.1f s, want at most %.1f s", got.Longest, longestOutage)
	}
	if got.Requests < 100 || float64(got.Failed) > failedShare*float64(got.Requests) {
		return fmt.Errorf("%d of %d requests failed, want at most %.1f in a thousand of at least 100: %q", got.Failed, got.Requests, 1000*failedShare, got.Errors)
	}
	return nil
}

// rollbackFull rolls back a complete upgrade. Until then, registry prune must keep the earlier
// bundle.
func (u *Upgrading) rollbackFull(ctx context.Context) error {
	if err := u.E.Script(ctx, u.first(), scenario.Kubectl+"create configmap since --from-literal=a=b", "airgap registry prune --dry-run | grep -q 'airgap rollback goes back to it'"); err != nil {
		return err
	}
	return errors.Join(u.rollBack(ctx), u.E.Script(ctx, u.first(), scenario.IsGone("configmap since")))
}

func (u *Upgrading) upgradeAgain(ctx context.Context) error {
	began := time.Now()
	_, err := u.E.Must(ctx, u.first(), []string{"nothing to do: the cluster already runs bundle bank"}, Command()...)
	fmt.Fprintf(u.E.Log, "again: %.0f s\n", time.Since(began).Seconds())
	return err
}
