package scenario

import (
	"context"

	"airgap.dev/airgap/e2e/lab"
)

// Harden starts fapolicyd on a server, as some sites do: unknown programs cannot start. On
// Enterprise Linux, fapolicyd trusts the files in rpm's database. The lab's fapolicyd cannot
// read that database, so rules name the same programs. Only airgap adds trust for the
// runtime and flannel. The lab's disks are overlays, so fapolicyd must watch overlays.
func Harden(ctx context.Context, e *Env, m lab.Machine) error {
	return e.Script(ctx, m,
		`sed -i -E 's/^(uid|gid) = .*/\1 = root/; s/^trust = .*/trust = file/; s/^watch_fs = .*/&,overlay/; s/^do_stat_report = .*/do_stat_report = 0/' /etc/fapolicyd/fapolicyd.conf`,
		"cat >/etc/fapolicyd/rules.d/40-bank.rules <<'END'\n"+packagedRules+"END",
		"echo 'allow perm=open all : all' >/etc/fapolicyd/rules.d/95-allow-open.rules",
		"cp /usr/bin/true /opt/tool && fapolicyd-cli --file add /opt/tool --trust-file bank", // must still be trusted at the end
		"systemctl enable --now fapolicyd",
		// On a busy machine, the unit is active a moment before fapolicyd refuses programs.
		"cp /usr/bin/true /root/unknown && for i in $(seq 20); do /root/unknown 2>/dev/null || break; sleep 0.5; done; ! /root/unknown 2>/dev/null && rm /root/unknown")
}

// packagedRules replace the trust in rpm's database: the package kubernetes-cni contains
// these four plugins, which flannel and the runtime call.
const packagedRules = `allow perm=execute all : dir=/usr/
allow perm=execute all : path=/opt/cni/bin/bridge
allow perm=execute all : path=/opt/cni/bin/host-local
allow perm=execute all : path=/opt/cni/bin/loopback
allow perm=execute all : path=/opt/cni/bin/portmap
allow perm=execute all : trust=1
`

// onlyRuntime checks that a shell cannot start the network plugin: only the runtime can.
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
