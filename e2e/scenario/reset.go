package scenario

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"airgap.dev/airgap/e2e/lab"
)

// Reset compares complete hosts: after airgap reset a server is the same as before install,
// also after an interrupted install, and can be installed again.
func Reset(ctx context.Context, e *Env) error {
	stick := filepath.Join(e.Work, "stick")
	return e.WithServers(ctx, 2, func(l *lab.Lab) error {
		first, worker := l.Machines[0], l.Machines[1]
		var bare, begun, bareWorker Picture
		return e.InOrder([]Part{
			{"the site's own configuration", func() error { return errors.Join(configureSite(ctx, e, first), configureSite(ctx, e, worker)) }},
			{"survey", func() error { return e.Survey(ctx, l.Machines...) }},
			{"bundle", func() error { return e.MakeBundle(ctx, stick) }},
			{"fapolicyd blocks unknown programs", func() error { return errors.Join(Harden(ctx, e, first), Harden(ctx, e, worker)) }},
			{"pictures before", func() error {
				return errors.Join(e.TakePicture(ctx, first, &bare), e.TakePicture(ctx, worker, &bareWorker))
			}},
			{"the program, from the stick", func() (err error) {
				if err := e.InstallProgram(ctx, first, stick); err != nil {
					return err
				}
				begun, err = e.Picture(ctx, first)
				return err
			}},
			{"killed while the bundle is copied", func() error {
				return killAndReset(ctx, e, first, "test -e /var/lib/airgap/store/bank/bundle.tar.000", begun)
			}},
			{"killed while dnf installs", func() error { return killAndReset(ctx, e, first, "test -s /var/lib/airgap/dnf/installed.json", begun) }},
			{"killed during kubeadm init", func() error {
				return killAndReset(ctx, e, first, "test -n \"$(ls /run/containerd/io.containerd.runtime.v2.task/k8s.io 2>/dev/null)\"", begun)
			}},
			{"install on the host that was reset", func() error { return e.InstallOnce(ctx, first) }},
			{"join", func() error { return e.Join(ctx, first, worker, stick) }},
			{"a workload", func() error { return e.Workload(ctx, first) }},
			{"containerd uses the site's own setting", func() error {
				return e.Script(ctx, first, "/opt/airgap/bin/containerd --config /etc/containerd/config.toml config dump | grep -q 'max_concurrent_downloads = 7'")
			}},
			{"dnf keeps the packages", func() error { return locked(ctx, e, first) }},
			{"only the runtime starts flannel", func() error { return onlyRuntime(ctx, e, first, worker) }},
			{"the firewall opens only the cluster's ports", func() error { return firewalled(ctx, e, first, worker) }},
			{"a process that a killed runc has left frozen", func() error { return leaveFrozenProcess(ctx, e, worker) }},
			{"reset of the worker", func() error { return ResetAll(ctx, e, worker, bareWorker) }},
			{"reset of the control plane, killed", func() error { return resetKilled(ctx, e, first, begun) }},
			{"install with the kept data", func() error { return e.InstallOnce(ctx, first) }},
			{"reset of the control plane", func() error {
				if err := first.PullStick(ctx); err != nil {
					return err
				}
				return ResetAll(ctx, e, first, bare)
			}},
		})
	})
}

// configureSite configures a server like a site's server: a running firewalld with manual settings
// and later changes, a hardened setting that routing changes, packet filter rules in a
// separate table and in one that iptables shares, an interface, and files in the directory
// from which podman reads networks.
func configureSite(ctx context.Context, e *Env, m lab.Machine) error {
	return e.Script(ctx, m,
		"sysctl -qw net.ipv4.conf.all.accept_redirects=0",
		"nft add table inet bank && nft 'add chain inet bank in { type filter hook input priority 10; policy accept; }' && nft add rule inet bank in tcp dport 9999 drop",
		"nft add table ip filter && nft 'add chain ip filter INPUT { type filter hook input priority filter; policy accept; }' && nft add rule ip filter INPUT ip saddr 10.99.0.0/24 counter accept",
		"ip link add bank0 type bridge && ip address add 10.99.0.1/24 dev bank0 && ip link set bank0 up",
		"mkdir -p /etc/cni/net.d && echo podman >/etc/cni/net.d/README",
		`echo '{"name":"bank","cniVersion":"1.0.0","plugins":[{"type":"no-such-plugin"}]}' >/etc/cni/net.d/00-bank.conflist`, // a runtime that reads it starts no pod
		"mkdir -p /etc/containerd/conf.d && printf 'version = 3\n[plugins.\"io.containerd.cri.v1.images\"]\nmax_concurrent_downloads = 7\n' >/etc/containerd/conf.d/bank.toml",
		"cat >/etc/firewalld/zones/public.xml <<'END'\n"+siteZone+"END",
		"systemctl enable --now firewalld",
		"firewall-cmd --add-port=9100/tcp",                  // lost at the next reload: airgap must not reload
		"firewall-cmd --zone=trusted --add-interface=bank0", // also lost; firewalld keeps the empty chains of an unused zone
		"printf '# change 4711\nopenssl-1:3.2.2-6.el9.*' >/etc/dnf/plugins/versionlock.list",
		"firewall-cmd --permanent --zone=internal --add-source=10.99.0.0/24 && firewall-cmd --zone=internal --add-source=10.99.0.0/24",
	)
}

// siteZone is a handwritten zone: firewalld would write it in another format.
const siteZone = `<?xml version="1.0" encoding="utf-8"?>
<zone>
  <short>Public</short> <!-- change 4711 -->
  <service name="ssh"/>
  <rule family="ipv4"><source address="10.99.0.0/24"/><port port="161" protocol="udp"/><accept/></rule>
  <forward/>
</zone>
`

// leaveFrozenProcess creates a frozen process in the pods' cgroup that no runtime knows. A killed runc can leave one. With
// cgroup v1, no signal reaches it.
func leaveFrozenProcess(ctx context.Context, e *Env, m lab.Machine) error {
	if lab.Unified() {
		return e.Script(ctx, m, "systemd-run --quiet --wait sh -c 'set -e; sleep 10000 & p=$!; cd /sys/fs/cgroup/kubepods.slice; mkdir lost.scope; echo $p >lost.scope/cgroup.procs; echo 1 >lost.scope/cgroup.freeze'")
	}
	const lost = "set -e; sleep 10000 & p=$!; for h in freezer systemd unified pids; do d=/sys/fs/cgroup/$h/kubepods.slice/lost.scope; mkdir $d; echo $p >$d/cgroup.procs; done" +
		"; echo FROZEN >/sys/fs/cgroup/freezer/kubepods.slice/lost.scope/freezer.state"
	return e.Script(ctx, m,
		"systemd-run --quiet --wait sh -c '"+lost+"'",
		"read p </sys/fs/cgroup/freezer/kubepods.slice/lost.scope/cgroup.procs; kill -9 $p; sleep 1; read p </sys/fs/cgroup/freezer/kubepods.slice/lost.scope/cgroup.procs")
}

// locked checks dnf's version lock. dnf must leave no cache and no log.
func locked(ctx context.Context, e *Env, m lab.Machine) error {
	const ask = "dnf --setopt=cachedir=/tmp/dnf --setopt=logdir=/tmp/dnf --disablerepo='*' versionlock list; rm -r /tmp/dnf"
	_, err := e.Must(ctx, m, []string{"openssl-1:3.2.2-6.el9.*", "kubelet-0:1.36.3-", "kubectl-0:"}, "sh", "-c", ask)
	return err
}

// firewalled checks that a Service is reachable from outside the cluster, and that a worker
// cannot reach etcd and ports that are not open.
func firewalled(ctx context.Context, e *Env, first, worker lab.Machine) error {
	if err := e.Script(ctx, first, "firewall-cmd --state", Kubectl+`patch svc hello -p '{"spec":{"type":"NodePort","ports":[{"port":80,"targetPort":8080,"nodePort":30080}]}}'`); err != nil {
		return err
	}
	if err := e.Script(ctx, worker,
		"i=0; until curl -sf --max-time 5 http://10.88.0.11:30080/; do i=$((i+1)); [ $i -lt 20 ] || exit 1; sleep 1; done", // kube-proxy needs some time
		"for i in 1 2 3 4 5 6; do curl -sf --max-time 5 http://10.88.0.11:30080/ || exit 1; done",                          // the pods are on both hosts
		"curl -sk --max-time 5 https://10.88.0.11:6443/healthz",
	); err != nil {
		return err
	}
	for _, port := range []string{"2379", "2380", "22222"} {
		r, err := e.On(ctx, worker, "", "timeout", "5", "bash", "-c", "exec 3<>/dev/tcp/10.88.0.11/"+port)
		if err != nil {
			return err
		}
		if err := r.Want("port "+port+" from a worker", 1, "No route to host"); err != nil { // firewalld's answer
			return err
		}
	}
	return nil
}

// InstallOnce installs on a server and checks that install has changed it.
func (e *Env) InstallOnce(ctx context.Context, m lab.Machine) error {
	done, err := e.AirgapOn(ctx, m, "", "install", LabSkips, lab.StickPath+"/bank")
	if err == nil && done.Changed == 0 {
		err = fmt.Errorf("install reports %+v", done)
	}
	return err
}

// Always returns the exceptions of every reset.
func Always() []Exception {
	return []Exception{
		{`^[+-] unit\tnetwork-online\.target `, "the kubelet's unit has started the target, and only a reboot stops it"},
		{`^\+ (file|content)\t.* /root/\.kube[/ ]`, "the cache of kubectl, which the scenario calls, not airgap"},
	}
}

// killAndReset kills an install when the condition soFar holds, resets the host and compares it.
func killAndReset(ctx context.Context, e *Env, m lab.Machine, soFar string, before Picture) error {
	if err := e.Killed(ctx, m, "airgap install "+LabSkips+" "+lab.StickPath+"/bank", soFar); err != nil {
		return err
	}
	if _, err := e.Must(ctx, m, []string{"undone: "}, "airgap", "reset", "--yes", "--wipe-data"); err != nil {
		return err
	}
	return e.MatchesPicture(ctx, m, before, Always()...)
}

// Killed starts a command and kills it with SIGKILL when the shell condition soFar holds. Its
// children continue to run. If the command ends before, Killed fails with its output.
func (e *Env) Killed(ctx context.Context, m lab.Machine, command, soFar string) error {
	return e.Script(ctx, m, `out=$(mktemp); trap 'rm -f $out' EXIT
		`+command+` >$out 2>&1 &
		until `+soFar+` 2>/dev/null; do kill -0 $! || { cat $out; exit 1; }; sleep 0.05; done
		kill -9 $! || exit 1; wait $! 2>/dev/null; true`)
}

// ResetAll resets the host, removes airgap.rpm and its key, and compares the host with bare.
func ResetAll(ctx context.Context, e *Env, m lab.Machine, bare Picture, also ...Exception) error {
	plan, err := e.Must(ctx, m, []string{"Remove this node from the cluster", "It deletes:", "/var/lib/c"}, "airgap", "reset", "--dry-run", "--wipe-data")
	if err != nil {
		return err
	}
	fmt.Fprint(e.Log, plan.Stdout)
	refused, err := e.On(ctx, m, "no\n", "airgap", "reset", "--wipe-data")
	if err != nil {
		return err
	}
	if err := refused.Want("reset that is not confirmed", 2, "nothing was changed", "Remove this node from the cluster"); err != nil {
		return err
	}
	r, err := e.Must(ctx, m, []string{"undone: ", "deleted:"}, "airgap", "reset", "--yes", "--wipe-data")
	if err != nil {
		return err
	}
	fmt.Fprint(e.Log, r.Stderr, r.Stdout)
	if _, err := e.Must(ctx, m, []string{"nothing to undo"}, "airgap", "reset", "--yes", "--wipe-data"); err != nil {
		return err
	}
	if err := e.Script(ctx, m, "rpm -e airgap", "rpm -q gpg-pubkey --qf '%{NAME}-%{VERSION}-%{RELEASE}\\n' | xargs rpm -e"); err != nil {
		return err
	}
	return e.MatchesPicture(ctx, m, bare, append(append(Always(), also...), userStays())...)
}

func userStays() Exception {
	return Exception{
		`^[+-] (user|group)\tairgap(-approver)?:|(/etc/(passwd|group|shadow|gshadow)-?|/etc/\.pwd\.lock)\b`, "airgap.rpm keeps its users, as packages do: a new user with the same ID would own their files",
	}
}

// resetKilled resets a control-plane host without --wipe-data, kills the reset and continues
// it. The kept data is in the directories that reset reports.
func resetKilled(ctx context.Context, e *Env, m lab.Machine, begun Picture) error {
	if err := e.Killed(ctx, m, "airgap reset --yes", `grep -q '"step":"runtime","event":"undone"' /var/lib/airgap/journal.jsonl`); err != nil {
		return err
	}
	r, err := e.Must(ctx, m, []string{"undone: ", "kept", "/var/lib/airgap/store", "/var/lib/airgap/backup", "/var/lib/airgap/kept/etcd-", "/var/lib/containerd"}, "airgap", "reset", "--yes")
	if err != nil {
		return err
	}
	if strings.Contains(r.Stderr, "kubeadm") {
		return fmt.Errorf("the continued reset repeated completed steps:\n%s", r.Stderr)
	}
	if err := e.Script(ctx, m, "test -s /var/lib/airgap/kept/etcd-*/snap/db", "test -s /var/lib/airgap/backup/*/etcd.db"); err != nil {
		return err
	}
	return e.MatchesPicture(ctx, m, begun, append(Always(), Exception{
		`^\+ (file|content)\t.* /var/(lib/airgap/(store|kept|backup)|lib/containerd|log/airgap|log/kubernetes|log/pods|log/containers)[/ ]`, "data, which only --wipe-data removes",
	})...)
}
