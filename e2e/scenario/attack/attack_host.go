package attack

import (
	"context"
	"errors"
	"fmt"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
)

// attackHost plays items 4 and 11. Item 4 tries to reach root through a service account's
// directory and through reset. In item 11 a user's process imitates the API server.
func attackHost(ctx context.Context, e *scenario.Env, t target) []scenario.Part {
	return []scenario.Part{
		{Title: "the registry's user links its directory to root's files", Run: func() error { return linkedPushes(ctx, e, t.first) }},
		{Title: "a user's process is called kube-apiserver", Run: func() error { return posesAsAPIServer(ctx, e, t.first) }},
		{Title: "another directory is mounted over the kubelet's", Run: func() error {
			return resetTrap(ctx, e, t.second,
				"systemctl stop kubelet && mount --bind /srv/ledger /var/lib/kubelet",
				"umount /var/lib/kubelet && systemctl start kubelet")
		}},
		{Title: "a directory of the kubelet's is a link to another disk", Run: func() error {
			const dir = "/usr/libexec/kubernetes"
			return resetTrap(ctx, e, t.second,
				"systemctl stop kubelet && mv "+dir+" "+dir+".away && ln -sT /srv/ledger "+dir, // the kubelet creates it when it starts
				"rm "+dir+" && mv "+dir+".away "+dir+" && systemctl start kubelet")
		}},
	}
}

// asAirgap runs a shell line as the registry's user.
const asAirgap = "runuser -u airgap -- sh -c "

// linkedPushes plants links to root's files and endless FIFOs in the directory of the registry's
// user. Commands that root runs must not read them.
func linkedPushes(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	const tags = "/var/lib/airgap/pushed/docker/registry/v2/repositories/trap/_manifests/tags"
	before := "stat -c '%U:%G %a %s' /etc/shadow /etc/airgap/pki >/run/before"
	if err := e.Script(ctx, m, before, asAirgap+"'mkdir -p "+tags+"/shadow/current "+tags+"/fifo/current && ln -s /etc/shadow "+tags+"/shadow/current/link && mkfifo "+tags+"/fifo/current/link && ln -s /etc/airgap/pki /var/lib/airgap/pushed/docker/registry/v2/repositories/pki'"); err != nil {
		return err
	}
	r, err := e.On(ctx, m, "", "timeout", "60", "airgap", "registry", "prune", "--dry-run")
	if err == nil {
		err = r.Want("airgap registry prune over planted links", 1, tags+"/shadow/current/link", tags+"/fifo/current/link", "repositories/pki")
	}
	clean := "rm -r /var/lib/airgap/pushed/docker/registry/v2/repositories/trap /var/lib/airgap/pushed/docker/registry/v2/repositories/pki"
	return errors.Join(err, e.Script(ctx, m, asAirgap+"'"+clean+"'",
		"stat -c '%U:%G %a %s' /etc/shadow /etc/airgap/pki | cmp - /run/before && rm /run/before",
		"timeout 60 airgap registry prune --dry-run"))
}

// posesAsAPIServer starts processes of an unprivileged user that imitate an API server with
// profiling, which the baseline disables. Their process IDs are lower and higher than the real one.
func posesAsAPIServer(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	return e.Script(ctx, m, `set -e
airgap compliance >/run/compliance.before || test $? = 3
pids=
for i in $(seq 40); do
	setpriv --reuid 65534 --regid 65534 --clear-groups bash -c 'exec -a kube-apiserver sh -c "sleep 120; true" --profiling=true --etcd-servers=http://127.0.0.1:9' </dev/null >/dev/null 2>&1 &
	pids="$pids $!"
done
trap 'kill $pids; rm -f /run/compliance.*' EXIT
sleep 1
test "$(grep -la 'profiling=true' /proc/[0-9]*/cmdline | wc -l)" -ge 40
airgap compliance >/run/compliance.after || test $? = 3
cmp /run/compliance.before /run/compliance.after
`)
}

// resetTrap makes one of the cluster's directories lead to data of the site. airgap reset must
// change nothing, and must name the directory and its target.
func resetTrap(ctx context.Context, e *scenario.Env, m lab.Machine, set, undo string) error {
	if err := e.Script(ctx, m, "mkdir -p /srv/ledger && echo theirs >/srv/ledger/db", set); err != nil {
		return err
	}
	r, err := e.On(ctx, m, "", "airgap", "reset", "--yes", "--wipe-data")
	if err == nil {
		err = r.Want(fmt.Sprintf("%s: reset with a directory that leads elsewhere", m.Name()), 1, "nothing was changed", "/srv/ledger", "when this host was installed")
	}
	return errors.Join(err, e.Script(ctx, m, "grep -qx theirs /srv/ledger/db && test -e /etc/kubernetes/kubelet.conf", undo, "rm -r /srv/ledger"))
}
