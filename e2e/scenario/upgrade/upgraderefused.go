package upgrade

import (
	"context"
	"errors"
	"fmt"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
)

// refused checks that the upgrade is refused with these words, and changes nothing.
func (u *Upgrading) refused(ctx context.Context, words ...string) error {
	r, err := u.E.On(ctx, u.first(), "", Command()...)
	if err != nil {
		return err
	}
	if err := r.Want("an upgrade that must be refused", 1, words...); err != nil {
		return err
	}
	return untouched(ctx, u)
}

// untouched checks that the cluster has the installed versions, and that no upgrade began.
func untouched(ctx context.Context, u *Upgrading) error {
	return errors.Join(u.E.Script(ctx, u.first(), "! test -e "+upgradeDir), u.versions(ctx, "1.35.8", "1.7.35"))
}

// upgradeDir is the directory in which an upgrade keeps its record and the backup from before.
const upgradeDir = "/var/lib/airgap/upgrade"

// fullEtcd raises etcd's alarm until the upgrade is refused: with the alarm, nothing can be written
// to the cluster.
func fullEtcd(ctx context.Context, u *Upgrading) error {
	const full = `alarm() { curl --silent --fail --cacert /etc/kubernetes/pki/etcd/ca.crt --cert /etc/kubernetes/pki/apiserver-etcd-client.crt \
	--key /etc/kubernetes/pki/apiserver-etcd-client.key -X POST https://127.0.0.1:2379/v3/maintenance/alarm -d '{"action":"'$1'","alarm":"NOSPACE"}' >/run/alarm; }
alarm ACTIVATE || exit 99
"$@"; code=$?
alarm DEACTIVATE || exit 98
rm /run/alarm; exit $code`
	r, err := u.E.On(ctx, u.first(), "", append([]string{"sh", "-c", full, "sh"}, Command()...)...)
	if err != nil {
		return err
	}
	if err := r.Want("upgrade with a full etcd", 1, "etcd is full", "NOSPACE", "alarm disarm"); err != nil {
		return err
	}
	return errors.Join(u.E.Script(ctx, u.first(), scenario.Kubectl+"wait node --all --for=condition=Ready --timeout=90s"), untouched(ctx, u))
}

// noRoom mounts a small disk on the directory for the backup.
func noRoom(ctx context.Context, u *Upgrading) error {
	if err := u.E.Script(ctx, u.first(), "mkdir "+upgradeDir+" && mount -t tmpfs -o size=64m tmpfs "+upgradeDir); err != nil {
		return err
	}
	r, err := u.E.On(ctx, u.first(), "", scenario.WithDisks(Command())...)
	if err == nil {
		err = r.Want("upgrade without disk space", 3, "disk-space", "(etcd backup)")
	}
	return errors.Join(err,
		u.E.Script(ctx, u.first(), `[ -z "$(ls -A `+upgradeDir+`)" ]`, "umount "+upgradeDir+" && rmdir "+upgradeDir),
		untouched(ctx, u))
}

func noInstall(ctx context.Context, u *Upgrading) error {
	r, err := u.E.On(ctx, u.first(), "", scenario.InstallOverSSH()...)
	if err != nil {
		return err
	}
	return r.Want("install of another version", 1, "Kubernetes 1.35.8, not 1.36.3", "airgap upgrade "+lab.StickPath+"/bank")
}

func neverAllows(ctx context.Context, u *Upgrading) error {
	if err := u.E.Script(ctx, u.first(), scenario.Kubectl+"create poddisruptionbudget never --selector=app=shop --min-available=3"); err != nil {
		return err
	}
	return errors.Join(u.refused(ctx, "PodDisruptionBudget", "default/never"), u.E.Script(ctx, u.first(), scenario.Kubectl+"delete poddisruptionbudget never"))
}

const deadWebhook = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: lost}
webhooks:
  - name: lost.bank.example
    clientConfig: {service: {namespace: default, name: lost, path: /}}
    rules: [{apiGroups: ["*"], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: [%s]}]
    sideEffects: None
    failurePolicy: Fail
    admissionReviewVersions: [v1]
`

// deadWebhooks creates webhooks without a server: for the first object that kubeadm writes, for the
// last one, and for evictions.
func deadWebhooks(ctx context.Context, u *Upgrading) error {
	for resources, change := range map[string]string{
		"pods, configmaps, nodes": "change node node1",
		"daemonsets":              "change DaemonSet kube-system/kube-proxy",
		"pods/eviction":           "evict pod ",
	} {
		r, err := u.E.On(ctx, u.first(), fmt.Sprintf(deadWebhook, resources), "sh", "-c", scenario.Kubectl+"apply -f -")
		if err != nil {
			return err
		}
		if err := r.Want("apply a webhook", 0); err != nil {
			return err
		}
		if err := errors.Join(
			u.refused(ctx, change, "lost.bank.example", "would stop the upgrade"),
			u.E.Script(ctx, u.first(), scenario.Kubectl+"delete validatingwebhookconfiguration lost")); err != nil {
			return err
		}
	}
	return nil
}
