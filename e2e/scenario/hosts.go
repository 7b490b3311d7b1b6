package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/crypto/ssh"

	"airgap.dev/airgap/e2e/lab"
)

// OnHosts uses two servers of the lab as foreign hosts: it knows only their hosts file, and
// reaches them only through sshd. It calls the lab command like a user, with journey and
// ctrl-c. The command refuses dangerous runs. A killed run is cleaned up by `lab down`, and
// complete runs pass.
func OnHosts(ctx context.Context, e *Env) error {
	return e.WithServers(ctx, 2, func(l *lab.Lab) error {
		o := &foreignRun{Env: e, first: l.Machines[0], worker: l.Machines[1]}
		defer o.stop()
		var first, worker Picture
		return e.InOrder([]Part{
			{"SSH access and the hosts file", func() error { return errors.Join(o.letIn(ctx), o.writeHosts(ctx, l)) }},
			{"pictures before", func() error {
				return errors.Join(e.TakePicture(ctx, o.first, &first), e.TakePicture(ctx, o.worker, &worker))
			}},
			{"refused: scenarios that need the lab", func() error { return o.refusedByNeed(ctx) }},
			{"refused: an unknown host key", func() error { return o.refusedByKey(ctx) }},
			{"refused: a host that is not empty", func() error { return o.refusedByRemains(ctx) }},
			{"journey, killed after install", func() error { return o.killedRun(ctx) }},
			{"refused: remains of the killed run", func() error {
				return o.runLab(ctx, 1, []string{"host node1 is not empty: ", "package kubelet", "host node2 is not empty: it has " + lab.ForeignDir, "lab down --hosts"}, "run", "journey")
			}},
			{"clean up", func() error {
				return o.runLab(ctx, 0, []string{"host node2: cleaned up", "host node1: cleaned up"}, "down")
			}},
			{"journey, to its end", func() error { return o.completeRun(ctx, "journey") }},
			{"ctrl-c, to its end", func() error { return o.completeRun(ctx, "ctrl-c") }},
			{"the hosts are as before", func() error {
				return errors.Join(e.MatchesPicture(ctx, o.first, first, afterLogins()...), e.MatchesPicture(ctx, o.worker, worker, afterLogins()...))
			}},
		})
	})
}

// foreignRun contains the servers and their hosts file.
type foreignRun struct {
	*Env
	first, worker lab.Machine
	file          string
	forwards      []func() // stop functions
}

func (o *foreignRun) stop() {
	for _, stop := range o.forwards {
		stop()
	}
}

// hostsKey is the private key for the servers, a file in the work directory.
const hostsKey = "hosts.key"

// letIn authorizes the key: for root on one server, and on the other one for ops, with sudo.
// Each server gets its own host keys.
func (o *foreignRun) letIn(ctx context.Context) error {
	key, err := lab.MakeKey(filepath.Join(o.Work, hostsKey))
	if err != nil {
		return err
	}
	const ownKeys = "rm -f /etc/ssh/ssh_host_*_key* && ssh-keygen -A >/dev/null && systemctl restart ssh"
	public := string(ssh.MarshalAuthorizedKey(key.PublicKey()))
	return errors.Join(
		o.Script(ctx, o.first, ownKeys, Authorize("/root", public, "root")),
		o.Script(ctx, o.worker, ownKeys, "useradd -m ops", Authorize("/home/ops", public, "ops"), "umask 337; echo 'ops ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/ops"),
		Password(ctx, o.Env, o.worker, "ops", opsPassword))
}

// writeHosts writes the hosts file. sshd is reachable at ports of this machine, as through a
// site's port forwarding.
func (o *foreignRun) writeHosts(ctx context.Context, l *lab.Lab) error {
	if _, err := o.Config("airgap.yaml"); err != nil {
		return err
	}
	hosts, known := "config: airgap.yaml\nknownHosts: known_hosts\nidentityFile: "+hostsKey+"\nskip: [time-sync]\nhosts:\n", ""
	for m, user := range map[lab.Machine]string{o.first: "root", o.worker: "ops"} {
		key, err := lab.Output(ctx, m, "cat", "/etc/ssh/ssh_host_ed25519_key.pub")
		if err != nil {
			return err
		}
		at, stop, err := l.Forward(ctx, m, 22)
		if err != nil {
			return err
		}
		o.forwards = append(o.forwards, stop)
		hosts += fmt.Sprintf("- {name: %s, address: %s, port: %d, user: %s}\n", m.Name(), at.Addr(), at.Port(), user)
		known += fmt.Sprintf("[%s]:%d %s\n", at.Addr(), at.Port(), key)
	}
	o.file = filepath.Join(o.Work, "hosts.yaml")
	return errors.Join(os.WriteFile(o.file, []byte(hosts), 0o644), o.knows(known))
}

func (o *foreignRun) known() string { return filepath.Join(o.Work, "known_hosts") }

func (o *foreignRun) knows(keys string) error { return os.WriteFile(o.known(), []byte(keys), 0o644) }

// lab returns the lab command with the hosts file.
func (o *foreignRun) lab(ctx context.Context, args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	return exec.CommandContext(ctx, self, append(args, "--hosts", o.file)...), err
}

// runLab runs the lab command and checks its exit code and output.
func (o *foreignRun) runLab(ctx context.Context, code int, parts []string, args ...string) error {
	cmd, err := o.lab(ctx, args...)
	if err != nil {
		return err
	}
	r, err := o.Command(cmd)
	if err != nil {
		return err
	}
	return r.Want("lab "+strings.Join(args, " ")+" --hosts", code, parts...)
}

// untouchedBoth checks that both hosts have no directory of a run.
func (o *foreignRun) untouchedBoth(ctx context.Context) error {
	const nothing = "! test -e " + lab.ForeignDir
	return errors.Join(o.Script(ctx, o.first, nothing), o.Script(ctx, o.worker, nothing))
}

// refusedByNeed checks that one scenario that needs the lab stops all scenarios of the command.
func (o *foreignRun) refusedByNeed(ctx context.Context) error {
	return errors.Join(
		o.runLab(ctx, 1, []string{"scenario ha runs in the lab only: it cuts the servers' power", "scenario stick runs in the lab only: it is about emulated machines"}, "run", "journey", "ha", "stick"),
		o.untouchedBoth(ctx))
}

// refusedByKey exchanges the known keys of the two hosts.
func (o *foreignRun) refusedByKey(ctx context.Context) error {
	right, err := os.ReadFile(o.known())
	if err != nil {
		return err
	}
	lines := strings.Fields(string(right)) // place, kind, key, comment; twice
	if len(lines) != 8 {
		return fmt.Errorf("read the known keys: got %q", right)
	}
	lines[2], lines[6] = lines[6], lines[2]
	return errors.Join(
		o.knows(strings.Join(lines[:4], " ")+"\n"+strings.Join(lines[4:], " ")+"\n"),
		o.runLab(ctx, 1, []string{"become root on host node1: ", "become root on host node2: ", "key mismatch", "nothing was changed on any host"}, "run", "journey"),
		o.knows(string(right)),
		o.untouchedBoth(ctx))
}

// refusedByRemains checks that existing files on a host do not count as a run's: run refuses
// the host, and down does not change it.
func (o *foreignRun) refusedByRemains(ctx context.Context) error {
	return errors.Join(
		o.Script(ctx, o.worker, "mkdir /etc/airgap && touch /etc/airgap/theirs"),
		o.runLab(ctx, 1, []string{"host node2 is not empty: it has /etc/airgap\n", "nothing was changed on any host"}, "run", "journey"),
		o.untouchedBoth(ctx),
		o.runLab(ctx, 0, []string{"host node1: has no files of a run", "host node2: has no files of a run"}, "down"),
		o.Script(ctx, o.worker, "test -e /etc/airgap/theirs && rm -r /etc/airgap"))
}

// killedRun kills the run after the install of the first host, before the other one joins.
func (o *foreignRun) killedRun(ctx context.Context) error {
	cmd, err := o.lab(ctx, "run", "journey")
	if err != nil {
		return err
	}
	r, err := o.Watched(cmd, &Watcher{Mark: "hosts-journey: install, twice", React: func() { _ = cmd.Process.Kill() }})
	if err != nil {
		return err
	}
	if err := r.Want("a killed run", -1, "hosts-journey: install, twice"); err != nil {
		return err
	}
	return o.Script(ctx, o.first, "rpm -q kubelet && test -e "+lab.ForeignDir)
}

// completeRun runs a scenario to its end, and checks that ops used sudo.
func (o *foreignRun) completeRun(ctx context.Context, name string) error {
	cmd, err := o.lab(ctx, "run", name)
	if err != nil {
		return err
	}
	r, err := o.Command(cmd)
	if err != nil {
		return err
	}
	if err := r.Want(name+" on hosts", 0, "PASS "+name+" ", "1 passed, 0 failed", "a workload (skipped: it needs images", "host node1: cleaned up", "host node2: cleaned up"); err != nil {
		return err
	}
	fmt.Fprint(o.Log, r.Stderr)
	return errors.Join(o.untouchedBoth(ctx),
		o.Script(ctx, o.worker, "journalctl --no-pager --identifier=sudo | grep -q 'ops : .*USER=root'"))
}

// afterLogins returns the differences that a run on foreign hosts makes.
func afterLogins() []Exception {
	return append(Always(), userStays(),
		Exception{`^[+-] file\t.* /var/log/(wtmp|btmp|lastlog) `, "records of the logins"},
		Exception{`^[+-] (unit-file\tsession-\d+\.scope transient$|unit\t(user[-@.]|session-|run-user-|systemd-logind|systemd-oomd\.service not-found)|process\t(\(sd-pam\)|systemd|systemd-logind|dbus-daemon|gpg-agent|sshd|sudo)$|(mount|listens)\t/run/user/|run\t. /run/(sudo|motd))`, "the login session, which ends a moment after the logout"},
	)
}
