package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"airgap.dev/airgap/e2e/lab"
)

// ThroughSSH installs four servers with one command on the first one, and tests the problems
// that the other servers can cause.
func ThroughSSH(ctx context.Context, e *Env) error {
	stick := filepath.Join(e.Work, "stick")
	return e.WithServers(ctx, 4, func(l *lab.Lab) error {
		first := l.Machines[0]
		others := l.Machines[1:]
		return e.InOrder([]Part{
			{"accounts", func() error { return accounts(ctx, e, l) }},
			{"survey", func() error { return e.Survey(ctx, l.Machines...) }},
			{"bundle", func() error { return e.MakeBundle(ctx, stick, sshNodes()...) }},
			{"the program, from the stick", func() error { return e.InstallProgram(ctx, first, stick) }},
			{"without a terminal", func() error { return refusedWithoutTerminal(ctx, e, first) }},
			{"host keys, passwords, sudo refused", func() error { return confirmHostKeys(ctx, e, l) }},
			{"a wrong key, a changed host key", func() error { return wrongKeys(ctx, e, first, others[0]) }},
			{"a full disk, remains of a cluster", func() error { return refusedHosts(ctx, e, l) }},
			{"Ctrl-C while the others join", func() error { return interruptFleet(ctx, e, first) }},
			{"a reboot, a host that is busy", func() error { return reboot(ctx, e, first, others[0], others[1]) }},
			{"two installs at once", func() error { return twoInstalls(ctx, e, first) }},
			{"install continues", func() error { return finishFleet(ctx, e, first) }},
			{"a second install changes nothing", func() error { return fleetAgain(ctx, e, l) }},
			{"verify", func() error { return e.Verified(ctx, first) }},
			{"a workload", func() error { return e.Workload(ctx, first) }},
			{"a log for each host", func() error { return hostLogs(ctx, e, l) }},
			{"a host of another cluster", func() error { return otherCluster(ctx, e, first) }},
		})
	})
}

// InstallOverSSH returns the install command with additional options.
func InstallOverSSH(options ...string) []string {
	return append([]string{"airgap", "install", LabSkips, "--progress", "plain", lab.StickPath + "/bank"}, options...)
}

// refusedWithoutTerminal checks that install without a terminal reports the problems of all hosts at once,
// and changes nothing.
func refusedWithoutTerminal(ctx context.Context, e *Env, first lab.Machine) error {
	r, err := e.On(ctx, first, "", InstallOverSSH()...)
	if err != nil {
		return err
	}
	return r.Want("install, no host key known", 1, "3 of 3 other hosts: login failed",
		"node2: the host key of node2 (root@10.88.0.12:22) is not known: ssh-ed25519 SHA256:",
		"node3: the host key of node3 (ops@10.88.0.13:22)", "node4: the host key", "nothing was changed on any host")
}

// confirmKeys confirms the keys of all hosts, which are one list.
func confirmKeys() []answer {
	all := []answer{{"The host keys of 3 hosts are not known:", ""}}
	for _, name := range []string{"node2", "node3", "node4"} {
		all = append(all, answer{"  " + name + " (", ""})
	}
	return append(all, answer{"Type yes if all of them are the same: ", "yes\n"})
}

// typePassword answers a password prompt.
func typePassword(password string) answer { return answer{"(not shown): ", password + "\n"} }

// confirmHostKeys confirms the host keys and types a wrong password for clerk first. Install reports
// that ops is not in the sudoers file. Then it adds ops to that file.
func confirmHostKeys(ctx context.Context, e *Env, l *lab.Lab) error {
	first, ops := l.Machines[0], l.Machines[2]
	answers := append(confirmKeys(),
		answer{"sudo password of ops on node3", ""}, typePassword(opsPassword),
		answer{"Password of clerk on node4", ""}, typePassword("a typo"),
		answer{"Password of clerk on node4, which refused the last one", ""}, typePassword(clerkPassword))
	r, err := atTerminal(ctx, e, first, answers, InstallOverSSH()...)
	if err != nil {
		return err
	}
	if err := r.Want("install, ops may not become root", 1, "1 of 3 other hosts: login failed",
		"become root on node3 (ops@10.88.0.13:22): sudo refused: ops is not in the sudoers file", "ops ALL=(ALL) ALL in /etc/sudoers.d/airgap on node3"); err != nil {
		return err
	}
	if strings.Contains(r.Stdout, clerkPassword) || strings.Contains(r.Stdout, opsPassword) {
		return errors.New("the screen shows a password")
	}
	for _, m := range l.Machines[1:] {
		if err := e.Script(ctx, m, "! rpm -q airgap >/dev/null", "! test -e /var/lib/airgap"); err != nil {
			return err
		}
	}
	return errors.Join(
		e.Script(ctx, first, "test $(stat -c %a /var/lib/airgap/known_hosts) = 600", "! test -e /root/.ssh/known_hosts"),
		e.Script(ctx, ops, "umask 337; echo 'ops ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/ops"))
}

// wrongKeys removes the authorized key from a host, and then changes the host key.
func wrongKeys(ctx context.Context, e *Env, first, m lab.Machine) error {
	if err := e.Script(ctx, m, "mv /root/.ssh/authorized_keys /root/.ssh/not-now"); err != nil {
		return err
	}
	r, err := e.On(ctx, first, "", InstallOverSSH()...)
	if err != nil {
		return err
	}
	if err := r.Want("install with a key that node2 refuses", 1, "2 of 3 other hosts: login failed",
		"log in on node2 (root@10.88.0.12:22): it asks for a password, and did not take /root/.ssh/bank (SHA256:", "~root/.ssh/authorized_keys on node2",
		"log in on node4 (clerk@10.88.0.14:22): it asks for a password"); err != nil {
		return err
	}
	if err := e.Script(ctx, m, "mv /root/.ssh/not-now /root/.ssh/authorized_keys", "cp -a /etc/ssh /etc/ssh.old",
		"rm /etc/ssh/ssh_host_* && ssh-keygen -A >/dev/null && systemctl restart ssh"); err != nil {
		return err
	}
	r, err = atTerminal(ctx, e, first, []answer{typePassword(clerkPassword)}, InstallOverSSH()...)
	if err != nil {
		return err
	}
	if err := r.Want("install with a changed host key", 1, "1 of 3 other hosts: login failed",
		"the host key of node2 (root@10.88.0.12:22) is not the known one: it shows ssh-ed25519 SHA256:", "/var/lib/airgap/known_hosts:", "another machine may be answering"); err != nil {
		return err
	}
	return e.Script(ctx, m, "rm -r /etc/ssh && mv /etc/ssh.old /etc/ssh && systemctl restart ssh")
}

// refusedHosts checks that a worker with a full disk and one with remains of a cluster stop the
// install on all hosts, and that install reports both.
func refusedHosts(ctx context.Context, e *Env, l *lab.Lab) error {
	first, full, used := l.Machines[0], l.Machines[1], l.Machines[2]
	if err := errors.Join(
		e.Script(ctx, full, "mount -t tmpfs -o size=64m tmpfs /var/lib/kubelet"),
		e.Script(ctx, used, "mkdir -p /etc/kubernetes/manifests && touch /etc/kubernetes/manifests/kube-apiserver.yaml")); err != nil {
		return err
	}
	r, err := atTerminal(ctx, e, first, []answer{typePassword(clerkPassword)}, WithDisks(InstallOverSSH())...)
	if err != nil {
		return err
	}
	if err := r.Want("install with two unfit hosts", 3, "node1: ", "node4: ", "node2 (1 of 4)", "free on /var/lib/kubelet", "node3 (1 of 4)", "FAIL   old-cluster", "the other hosts have airgap.rpm now"); err != nil {
		return err
	}
	for _, m := range l.Machines {
		if err := e.Script(ctx, m, "! test -e /var/lib/airgap/journal.jsonl", "! test -e /opt/airgap", "! rpm -q kubelet >/dev/null", "rpm -q airgap", "test -z \"$(ls -d /var/tmp/airgap-ssh.* 2>/dev/null)\""); err != nil {
			return err
		}
	}
	return errors.Join(
		e.Script(ctx, full, "umount /var/lib/kubelet"),
		e.Script(ctx, used, "rm -r /etc/kubernetes"))
}

// interruptFleet sends Ctrl-C while all other hosts install: airgap must first end dnf on
// these hosts.
func interruptFleet(ctx context.Context, e *Env, first lab.Machine) error {
	r, err := atTerminal(ctx, e, first, []answer{
		typePassword(clerkPassword), {"node4: 4/", ""}, {"Install the packages", "\x03"},
	}, InstallOverSSH()...)
	if err != nil {
		return err
	}
	return errors.Join(r.Want("Ctrl-C while the others join", 130, "interrupted"), r.endedWithin(15*time.Second))
}

// reboot cuts a host's power while dnf runs there, and another command holds the lock on a
// second host for a while. Install waits for both.
func reboot(ctx context.Context, e *Env, first, cut, busy lab.Machine) error {
	if err := e.Script(ctx, busy, "systemd-run --quiet --unit=busy flock /var/lib/airgap/lock sleep 45"); err != nil {
		return err
	}
	rebooted := make(chan error, 1)
	watching, enough := context.WithCancel(ctx)
	defer enough()
	go func() { rebooted <- cutPower(watching, e, cut) }()
	r, err := atTerminal(ctx, e, first, []answer{typePassword(clerkPassword)}, InstallOverSSH()...)
	enough()
	if err = errors.Join(err, <-rebooted); err != nil {
		return fmt.Errorf("%w\n%s", err, r.Stdout)
	}
	fmt.Fprint(e.Log, r.Stdout)
	return errors.Join(
		r.Want("install while node2 reboots", 0, "node2: connection lost", "node2: done in", "the cluster is verified: 4 nodes"),
		e.Script(ctx, first, "grep -q 'waiting for another airgap command' /var/log/airgap/hosts/"+busy.Name()+".log"))
}

// cutPower waits for a new step of join, and switches the host off and on.
func cutPower(ctx context.Context, e *Env, m lab.Machine) error {
	const script = `has() { wc -l </var/lib/airgap/journal.jsonl; }
had=$(has); while [ "$(has)" = "$had" ]; do sleep 0.05; done`
	if err := e.Script(ctx, m, script); err != nil {
		return fmt.Errorf("wait for join on %s: %w", m.Name(), err)
	}
	if err := m.Kill(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	time.Sleep(5 * time.Second) // a server's firmware takes longer
	return m.Start(context.WithoutCancel(ctx))
}

// twoInstalls checks that a second install on the same host is refused.
func twoInstalls(ctx context.Context, e *Env, first lab.Machine) error {
	if err := e.Script(ctx, first, "systemd-run --quiet --unit=busy flock /var/lib/airgap/lock sleep 600"); err != nil {
		return err
	}
	r, err := e.On(ctx, first, "", InstallOverSSH()...)
	if err != nil {
		return err
	}
	return errors.Join(r.Want("a second install", 1, "another airgap command is changing this host"), e.Script(ctx, first, "systemctl stop busy"))
}

func finishFleet(ctx context.Context, e *Env, first lab.Machine) error {
	r, err := atTerminal(ctx, e, first, []answer{typePassword(clerkPassword)}, InstallOverSSH()...)
	if err != nil {
		return err
	}
	return r.Want("continued install", 0, "node1: nothing to do", "node[2-4] (3 hosts): nothing to do", "the cluster is verified: 4 nodes")
}

// fleetAgain checks that no token of the previous runs is left, and that a second install
// changes nothing, creates no token, and reports this as JSON.
func fleetAgain(ctx context.Context, e *Env, l *lab.Lab) error {
	const codes = Kubectl + "get secrets -n kube-system --field-selector type=bootstrap.kubernetes.io/token -o name | sort"
	first := l.Machines[0]
	if left, err := lab.Output(ctx, first, "sh", "-c", codes); err != nil || left != "" {
		return errors.Join(err, fmt.Errorf("got unused tokens: %q", left))
	}
	if err := e.Script(ctx, l.Machines[3], "umask 337; echo 'clerk ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/zz-clerk", "mkdir -m 700 /home/clerk/.ssh"); err != nil {
		return err
	}
	key, err := lab.Output(ctx, first, "cat", "/root/.ssh/bank.pub")
	if err != nil {
		return err
	}
	if err := e.Script(ctx, l.Machines[3], Authorize("/home/clerk", key, "clerk")); err != nil {
		return err
	}
	var done struct {
		Changed int
		Hosts   []struct {
			Node               string
			Changed, Unchanged int
			Error              string
		}
	}
	r, err := e.On(ctx, first, "", InstallOverSSH("--output", "json")...)
	if err != nil {
		return err
	}
	if err := errors.Join(r.Want("a second install", 0), json.Unmarshal([]byte(r.Stdout), &done)); err != nil {
		return err
	}
	if done.Changed != 0 || len(done.Hosts) != 3 {
		return fmt.Errorf("a second install reports %+v", done)
	}
	for _, h := range done.Hosts {
		if h.Changed != 0 || h.Unchanged == 0 || h.Error != "" {
			return fmt.Errorf("a second install reports %+v, want nothing changed", h)
		}
	}
	after, err := lab.Output(ctx, first, "sh", "-c", codes)
	if err == nil && after != "" {
		err = fmt.Errorf("a second install created tokens: %q", after)
	}
	return err
}

// hostLogs checks that there is a log for each host, readable only for root.
func hostLogs(ctx context.Context, e *Env, l *lab.Lab) error {
	return e.Script(ctx, l.Machines[0], `for n in node2 node3 node4; do f=/var/log/airgap/hosts/$n.log; test $(stat -c %a $f) = 600 && grep -q "logged in on $n" $f && grep -q '"event":"step"' $f || exit 1; done`)
}

// otherCluster resets the first host. The other hosts are still nodes of the removed cluster,
// and install for a new cluster must refuse them.
func otherCluster(ctx context.Context, e *Env, first lab.Machine) error {
	if _, err := e.Must(ctx, first, []string{"undone: "}, "airgap", "reset", "--yes"); err != nil {
		return err
	}
	if err := e.Script(ctx, first, "! test -e /var/lib/airgap/known_hosts", "ssh-keyscan 10.88.0.12 10.88.0.13 10.88.0.14 >/root/.ssh/known_hosts 2>/dev/null"); err != nil {
		return err
	}
	r, err := e.On(ctx, first, "", InstallOverSSH()...)
	if err != nil {
		return err
	}
	return r.Want("install with nodes of another cluster", 1, "3 of 3 other hosts: preparation failed",
		"node[2-4] (3 hosts): HOST is already a node of a cluster with the CA sha256:", "then airgap join here", "run airgap reset on HOST")
}
