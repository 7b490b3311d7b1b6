package scenario

import (
	"context"

	"airgap.dev/airgap/e2e/lab"
)

// backedUp checks the backup of install with other programs than airgap, and the second
// backup that the timer's unit makes. A worker has no backup. A full disk does not remove
// existing backups.
func backedUp(ctx context.Context, e *Env, first, worker lab.Machine) error {
	const newest = "cd /var/lib/airgap/backup && cd $(ls | tail -n 1) && "
	if err := e.Script(ctx, first,
		"systemctl is-active --quiet airgap-backup.timer",
		"[ $(ls /var/lib/airgap/backup | wc -l) -eq 1 ] && [ -z \"$(find /var/lib/airgap/backup -perm /077 ! -type l)\" ]",
		newest+"sha256sum --check --strict --quiet SHA256SUMS && cmp etc/kubernetes/pki/ca.key /etc/kubernetes/pki/ca.key",
		newest+"openssl dgst -sha256 -verify backup.pub -signature SHA256SUMS.sig SHA256SUMS >/dev/null",
		newest+"airgap status | grep -q \"signed by SHA256:$(openssl pkey -pubin -in backup.pub -outform DER | sha256sum | cut -c 1-64)\"",
		"[ $(stat -c %a /var/lib/airgap/backup-key/airgap.key) = 600 ] && ! grep -rqF \"$(sed -n 2p /var/lib/airgap/backup-key/airgap.key)\" /var/lib/airgap/backup",
		newest+"size=$(stat -c %s etcd.db) && head -c $((size-32)) etcd.db | sha256sum | cut -c 1-64 >/tmp/sum && tail -c 32 etcd.db | od -An -v -tx1 | tr -d ' \n' | cmp -n 64 - /tmp/sum && rm /tmp/sum",
		Kubectl+"create configmap backed-up --from-literal=word=nowhere-else",
		"systemctl start airgap-backup.service",
		"[ $(ls /var/lib/airgap/backup | wc -l) -eq 2 ]",
		newest+"grep -q nowhere-else etcd.db",
		Kubectl+"delete configmap backed-up",
		"mkdir /run/small && mount -t tmpfs -o size=64m tmpfs /run/small",
		"! airgap backup --dir /run/small/backup 2>/run/said && grep -q 'should stay free for etcd itself' /run/said && [ -z \"$(ls -A /run/small/backup)\" ]",
		"umount /run/small && rmdir /run/small && rm /run/said",
	); err != nil {
		return err
	}
	return e.Script(ctx, worker, "! airgap backup 2>/run/said && grep -q 'no member of etcd' /run/said && rm /run/said && ! test -e /var/lib/airgap/backup")
}
