package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
	"airgap.dev/airgap/e2e/secrets"
)

// Passwords of the accounts. The search for secrets must find them only in the password file.
const (
	homePassword  = "larches-in-Bergen-11" // of clerk on the server with the hung home
	loginPassword = "poplars-in-Malmo-23"  // of clerk on the server with the wrong password in the file
	rootPassword  = "rowans-in-Umea-35"    // of root on the server where sudo asks for it
)

// fault is a problem of a server, with a part of the cause that commands must name.
type fault struct {
	machine        int
	cause          string
	breaks, repair string // shell lines on the server; "" if another place has the fault
}

func faults() []fault {
	return []fault{
		// A directory of users that does not answer.
		{hungSudo, "sudo did not answer within", `sed -i '1i account required pam_exec.so quiet /bin/sleep 600' /etc/pam.d/sudo`, "sed -i 1d /etc/pam.d/sudo; pkill -x sleep || true"},
		// bash reads .bashrc as it does from a file server that does not answer: it waits in open.
		{hungHome, "the login shell did not answer within", "rm -f /home/clerk/.bashrc && mkfifo -m 600 /home/clerk/.bashrc && chown clerk: /home/clerk/.bashrc", "rm /home/clerk/.bashrc; pkill -u clerk || true"},
		{wrongLogin, "the password was refused", "", ""},
		{otherSudo, "sudo asks for a password", "", ""},
		{fullDisk, "preflight failed", "mount -t tmpfs -o size=64m tmpfs /var/lib/kubelet", "umount /var/lib/kubelet"},
		{dead, "login failed: connect to node8", "", ""},
	}
}

// accounts creates the users, their keys and passwords, and lets only the jump host log in on the last server.
func (f *fleet) accounts(ctx context.Context) error {
	f.Rules = append(f.Rules, secrets.Rule{Path: passwordFile, Kinds: []secrets.Kind{secrets.Password}, Mode: 0o600, Why: "ssh.passwordFile"})
	if err := f.AuthorizeKeys(ctx, f.first(), f.l.Machines[1:]...); err != nil {
		return err
	}
	key, err := lab.Output(ctx, f.first(), "cat", "/root/.ssh/bank.pub")
	if err != nil {
		return err
	}
	const own = "umask 337; echo '%[1]s ALL=(ALL) %[2]s' >/etc/sudoers.d/%[1]s"
	at := func(i int) lab.Machine { return f.l.Machines[i] }
	return errors.Join(
		f.Script(ctx, at(hungSudo), "useradd -m ops", scenario.Authorize("/home/ops", key, "ops"), fmt.Sprintf(own, "ops", "NOPASSWD: ALL")),
		f.Script(ctx, at(hungHome), "useradd -m -s /bin/bash clerk", fmt.Sprintf(own, "clerk", "ALL")), scenario.Password(ctx, f.Env, at(hungHome), "clerk", homePassword),
		f.Script(ctx, at(wrongLogin), "useradd -m clerk", fmt.Sprintf(own, "clerk", "ALL")), scenario.Password(ctx, f.Env, at(wrongLogin), "clerk", loginPassword),
		f.Script(ctx, at(otherSudo), "useradd -m ops", scenario.Authorize("/home/ops", key, "ops"), fmt.Sprintf(own, "ops", "ALL"), "umask 337; echo 'Defaults:ops rootpw' >/etc/sudoers.d/rootpw"),
		scenario.Password(ctx, f.Env, at(otherSudo), "root", rootPassword),
		f.Script(ctx, at(behindJump), "echo 'AllowUsers root@"+f.second().Addr().String()+"' >/etc/ssh/sshd_config.d/jump.conf", "systemctl restart ssh"))
}

// passwords writes the password file.
func (f *fleet) passwords(ctx context.Context, lines ...string) error {
	r, err := f.On(ctx, f.first(), strings.Join(lines, "\n")+"\n", "sh", "-c", "umask 077; cat >"+passwordFile)
	if err != nil {
		return err
	}
	return r.Want("write the password file", 0)
}

func (f *fleet) breakAll(ctx context.Context) error {
	errs := []error{f.passwords(ctx, "node4 login "+homePassword, "node5 login a-password-of-last-year")}
	for _, one := range f.faults {
		if one.breaks != "" {
			errs = append(errs, f.Script(ctx, f.l.Machines[one.machine], one.breaks))
		}
	}
	return errors.Join(errs...)
}

func (f *fleet) repairAll(ctx context.Context) error {
	errs := []error{
		f.passwords(ctx, "node4 login "+homePassword, "node5 login "+loginPassword, "node6 sudo "+rootPassword),
		f.l.Machines[dead].Start(ctx),
	}
	for _, one := range f.faults {
		if one.repair != "" {
			errs = append(errs, f.Script(ctx, f.l.Machines[one.machine], one.repair))
		}
	}
	return errors.Join(errs...)
}

// operatorLost runs the command at a terminal, where it asks for the missing password. When the hosts join, a worker
// loses its power, the operator's session ends, and then the command itself is killed. The join of the second
// control-plane host goes on to its end.
func (f *fleet) operatorLost(ctx context.Context) error {
	watching, stop := context.WithCancel(ctx)
	running, cancel := context.WithCancel(ctx)
	ended := make(chan scenario.Result, 1)
	go func() {
		r, _ := scenario.InSession(watching, f.Env, f.first(), "session-lab1", strings.Join(command(), " "), "sudo password of ops on node6") // it is killed
		ended <- r
		cancel() // a command that ends too early joins no host
	}()
	err := f.serverLost(running)
	if err == nil {
		err = f.commandKilled(ctx)
	}
	stop()
	if r := <-ended; err != nil {
		return fmt.Errorf("%w\nthe command's terminal:\n%s%s", err, r.Stdout, r.Stderr)
	}
	return nil
}

// serverLost cuts the power of a worker when its join has begun.
func (f *fleet) serverLost(ctx context.Context) error {
	last := f.l.Machines[dead]
	if err := f.Script(ctx, last, "for i in $(seq 6000); do test -s /var/lib/airgap/journal.jsonl && exit 0; sleep 0.2; done; exit 1"); err != nil {
		return fmt.Errorf("wait for join on %s: %w", last.Name(), err)
	}
	return last.Kill(ctx)
}

// commandKilled ends the operator's session, and kills the command.
func (f *fleet) commandKilled(ctx context.Context) error {
	const unit = "airgap-run-install.service"
	if err := f.Script(ctx, f.first(), "systemctl stop session-lab1.scope", "systemctl is-active --quiet "+unit, "systemctl kill --signal=KILL "+unit,
		scenario.Retry("! systemctl is-active --quiet "+unit)); err != nil {
		return err
	}
	return f.Script(ctx, f.second(), `for i in $(seq 600); do airgap membership | grep -q "joined true" && exit 0; sleep 1; done; exit 1`)
}

// names checks that an output has the names and causes of servers.
func (f *fleet) names(r scenario.Result, machines ...int) error {
	var errs []error
	for _, i := range machines {
		at := slices.IndexFunc(f.faults, func(one fault) bool { return one.machine == i })
		if said := r.Stdout + r.Stderr; !named(said, i+1) || !strings.Contains(said, f.faults[at].cause) {
			errs = append(errs, fmt.Errorf("%s or %q is not in the output:\n%s", f.l.Machines[i].Name(), f.faults[at].cause, said))
		}
	}
	return errors.Join(errs...)
}

var nameRange = regexp.MustCompile(`\bnode(?:(\d+)|\[([\d,-]+)\])`)

// named reports whether a text names a server: node5, or node[3-5,7].
func named(text string, number int) bool {
	for _, m := range nameRange.FindAllStringSubmatch(text, -1) {
		for part := range strings.SplitSeq(m[1]+m[2], ",") {
			from, to, isRange := strings.Cut(part, "-")
			low, err := strconv.Atoi(from)
			high := low
			if isRange && err == nil {
				high, err = strconv.Atoi(to)
			}
			if err == nil && low <= number && number <= high {
				return true
			}
		}
	}
	return false
}

// owes checks the first host's record: it has exactly these servers, with their causes.
func (f *fleet) owes(ctx context.Context, machines ...int) error {
	text, err := lab.Output(ctx, f.first(), "sh", "-c", "cat /var/lib/airgap/owed.json 2>/dev/null || echo '[]'")
	if err != nil {
		return err
	}
	return f.checkOwed([]byte(text), machines...)
}

func (f *fleet) checkOwed(text []byte, machines ...int) error {
	var debts []struct{ Node, Command, Why string }
	if err := json.Unmarshal(text, &debts); err != nil {
		return fmt.Errorf("read the record of owed hosts: %w", err)
	}
	for _, i := range machines {
		name, at := f.l.Machines[i].Name(), slices.IndexFunc(f.faults, func(one fault) bool { return one.machine == i })
		is := func(d struct{ Node, Command, Why string }) bool {
			return d.Node == name && d.Command == "join" && strings.Contains(d.Why, f.faults[at].cause)
		}
		if !slices.ContainsFunc(debts, is) {
			return fmt.Errorf("%s is not owed because of %q: %s", name, f.faults[at].cause, text)
		}
	}
	if len(debts) != len(machines) {
		return fmt.Errorf("%d hosts are owed, want %d: %s", len(debts), len(machines), text)
	}
	return nil
}

// hasNodes checks that the cluster has exactly these servers as nodes, and that all are ready.
func (f *fleet) hasNodes(ctx context.Context, machines ...int) error {
	text, err := lab.Output(ctx, f.first(), "sh", "-c", scenario.Kubectl+`get nodes -o jsonpath='{range .items[*]}{.metadata.name}={.status.conditions[?(@.type=="Ready")].status} {end}'`)
	if err != nil {
		return err
	}
	var want []string
	for _, i := range machines {
		want = append(want, f.l.Machines[i].Name()+"=True")
	}
	if got := strings.Fields(text); !slices.Equal(got, want) {
		return fmt.Errorf("the nodes are %q, want %q", got, want)
	}
	return nil
}
