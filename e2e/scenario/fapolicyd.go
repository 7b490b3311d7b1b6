package scenario

import (
	"context"

	"airgap.dev/airgap/e2e/lab"
)

// Harden has a server start nothing that it does not know, as a bank's may: a
// fapolicyd at work. On Enterprise Linux rpm's database vouches for what
// packages brought; the lab's fapolicyd cannot read that, so rules name the same
// programs. For the runtime and flannel nobody vouches but airgap. The lab's
// disks are overlays, which fapolicyd is told to watch.
func Harden(ctx context.Context, e *Env, m lab.Machine) error {
	return e.Script(ctx, m,
		`sed -i -E 's/^(uid|gid) = .*/\1 = root/; s/^trust = .*/trust = file/; s/^watch_fs = .*/&,overlay/; s/^do_stat_report = .*/do_stat_report = 0/' /etc/fapolicyd/fapolicyd.conf`,
		"cat >/etc/fapolicyd/rules.d/40-bank.rules <<'END'\n"+packagedRules+"END",
		"echo 'allow perm=open all : all' >/etc/fapolicyd/rules.d/95-allow-open.rules",
		"cp /usr/bin/true /opt/tool && fapolicyd-cli --file add /opt/tool --trust-file bank", // must still be trusted at the end
		"systemctl enable --now fapolicyd",
		// On a busy machine it is started a moment before it decides.
		"cp /usr/bin/true /root/unknown && for i in $(seq 20); do /root/unknown 2>/dev/null || break; sleep 0.5; done; ! /root/unknown 2>/dev/null && rm /root/unknown")
}

// packagedRules are instead of trust in rpm's database: the package
// kubernetes-cni brings these four plugins, which flannel and the runtime call.
const packagedRules = `allow perm=execute all : dir=/usr/
allow perm=execute all : path=/opt/cni/bin/bridge
allow perm=execute all : path=/opt/cni/bin/host-local
allow perm=execute all : path=/opt/cni/bin/loopback
allow perm=execute all : path=/opt/cni/bin/portmap
allow perm=execute all : trust=1
`

// onlyRuntime starts the network plugin as anybody would: only the runtime may.
func onlyRuntime(ctx context.Context, e *Env, machines ...lab.Machine) error {
	for _, m := range machines {
		r, err := e.On(ctx, m, "", "sh", "-c", "exec /opt/cni/bin/flannel")
		if err != nil {
			return err
		}
		if err := r.Want("flannel, started by hand", 126, "Operation not permitted"); err != nil {
			return err
		}
	}
	return nil
}
