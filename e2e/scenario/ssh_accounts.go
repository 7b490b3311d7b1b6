package scenario

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/secrets"
)

// Passwords of clerk and ops. The search for secrets must not find them.
const (
	clerkPassword = "tulips-in-Oslo-42"
	opsPassword   = "herons-in-Turku-7"
)

// sshNodes change the lab's airgap.yaml to three workers with three kinds of login.
func sshNodes() []string {
	return []string{
		"  - {name: node2, address: 10.88.0.12, roles: [worker]}\n",
		`  - {name: node2, address: 10.88.0.12, roles: [worker]}
  - {name: node3, address: 10.88.0.13, roles: [worker], ssh: {user: ops}}
  - {name: node4, address: 10.88.0.14, roles: [worker], ssh: {user: clerk}}
ssh:
  identityFile: ~/.ssh/bank
`,
	}
}

// accounts creates the site's users: root with a key on node2, ops with a key on node3, and
// clerk on node4 with one password for login and sudo. ops becomes a sudoer later, in vouch.
// Every host gets its own host keys.
func accounts(ctx context.Context, e *Env, l *lab.Lab) error {
	first, root, ops, clerk := l.Machines[0], l.Machines[1], l.Machines[2], l.Machines[3]
	key, err := newKey(ctx, e, first)
	if err != nil {
		return err
	}
	var errs []error
	for _, m := range l.Machines {
		errs = append(errs, e.Script(ctx, m, "rm -f /etc/ssh/ssh_host_*_key* && ssh-keygen -A >/dev/null && systemctl restart ssh"))
	}
	return errors.Join(append(errs,
		e.Script(ctx, root, Authorize("/root", key, "root")),
		e.Script(ctx, ops, "useradd -m ops", Authorize("/home/ops", key, "ops")),
		Password(ctx, e, ops, "ops", opsPassword),
		e.Script(ctx, clerk, "useradd -m clerk", "umask 337; echo 'clerk ALL=(ALL) ALL' >/etc/sudoers.d/clerk"),
		Password(ctx, e, clerk, "clerk", clerkPassword),
	)...)
}

// newKey creates an SSH key for root, and returns its public key.
func newKey(ctx context.Context, e *Env, m lab.Machine) (string, error) {
	if err := e.Script(ctx, m, "mkdir -p -m 700 /root/.ssh && ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/bank"); err != nil {
		return "", err
	}
	return lab.Output(ctx, m, "cat", "/root/.ssh/bank.pub")
}

// Authorize returns a shell line that authorizes an SSH key for a user.
func Authorize(home, key, user string) string {
	return fmt.Sprintf("mkdir -p -m 700 %[1]s/.ssh && echo '%[2]s' >%[1]s/.ssh/authorized_keys && chown -R %[3]s: %[1]s/.ssh", home, strings.TrimSpace(key), user)
}

// Password sets the password of a user, and adds it to the secrets of the run.
func Password(ctx context.Context, e *Env, m lab.Machine, user, password string) error {
	if err := e.Book.Add(secrets.Password, user+"'s", password); err != nil {
		return err
	}
	r, err := e.On(ctx, m, user+":"+password+"\n", "chpasswd")
	if err != nil {
		return err
	}
	return r.Want("chpasswd on "+m.Name(), 0)
}
