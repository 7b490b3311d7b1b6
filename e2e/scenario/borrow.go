package scenario

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"airgap.dev/airgap/e2e/lab"
)

// Hosts of others are lent for a run. It begins with hosts that have nothing of ours
// on them, and notes there what they are like; it ends with everything taken back,
// which is compared with what was noted. Between the two lies lab.ForeignDir: by it
// a host is told from one that no scenario has to do with.

// RunOnHosts runs one scenario on the hosts of a file.
func RunOnHosts(ctx context.Context, s Scenario, hosts lab.Hosts, program string, log io.Writer) error {
	if err := s.Elsewhere(); err != nil {
		return err
	}
	e, err := newEnv("hosts-"+s.Name, program, log)
	if err != nil {
		return fmt.Errorf("prepare %s: %w", s.Name, err)
	}
	e.hosts = &hosts
	return e.prove(ctx, s)
}

// borrow is what BankOf is in the lab. When job fails, the hosts' logs are kept, and
// with AIRGAP_LAB_KEEP the hosts stay as they are.
func (e *Env) borrow(ctx context.Context, n int, job func(*lab.Lab) error) error {
	if n != len(e.hosts.Hosts) {
		return fmt.Errorf("the scenario takes %d hosts, and the file names %d", n, len(e.hosts.Hosts))
	}
	l := lab.OpenHosts(e.Cache, e.run, *e.hosts)
	defer hangUp(l)
	if err := empty(ctx, e, l.Machines); err != nil {
		return fmt.Errorf("%w\nnothing was changed on any host", err)
	}
	err := note(ctx, l.Machines)
	if err == nil {
		err = errors.Join(job(l), nothingDenied(context.WithoutCancel(ctx), l.Machines))
	}
	if err != nil {
		logs, logErr := l.SaveLogs(context.WithoutCancel(ctx))
		if logErr != nil {
			fmt.Fprintln(e.Log, "save logs:", logErr)
		}
		err = fmt.Errorf("%w\nlogs of the hosts: %s", err, logs)
		if os.Getenv("AIRGAP_LAB_KEEP") != "" {
			return fmt.Errorf("%w\nthe hosts are left as they are, until go run ./cmd/lab down --hosts FILE", err)
		}
	}
	return errors.Join(err, GiveBack(context.WithoutCancel(ctx), l, e.Log))
}

func hangUp(l *lab.Lab) {
	for _, m := range l.Machines {
		_ = m.Close(context.Background()) // ends a connection
	}
}

// remains prints what a host has of ours, of Kubernetes, or of another run.
const remains = `for f in /etc/airgap /etc/kubernetes /opt/airgap /var/lib/airgap /var/lib/etcd /var/lib/kubelet /var/log/airgap ` + lab.ForeignDir + `; do
	[ -z "$(ls -A $f 2>/dev/null)" ] || echo $f
done
for p in airgap kubeadm kubelet; do
	! rpm --quiet -q $p || echo package $p
done`

// introduction is one line on what a host is, for whoever notes the result.
const introduction = `. /etc/os-release
has() { command -v $1 >/dev/null && "$@" 2>/dev/null || echo none; }
echo "$PRETTY_NAME, kernel $(uname -r), $(rpm --version)$(! rpm --quiet -q rpm-sequoia || echo ' with sequoia'), SELinux $(has getenforce), crypto policy $(has update-crypto-policies --show)$([ ! -e /etc/pki/consumer/cert.pem ] || echo ', subscribed')"`

// empty wants hosts on which somebody may be root and that have nothing on them.
// All that stands in the way is told at once.
func empty(ctx context.Context, e *Env, machines []lab.Machine) error {
	var errs []error
	for _, m := range machines {
		errs = append(errs, emptyOne(ctx, m))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, m := range machines {
		about, err := lab.Output(ctx, m, "sh", "-c", introduction)
		if err != nil {
			return err
		}
		fmt.Fprintf(e.Log, "host %s: %s\n", m.Name(), about)
	}
	return nil
}

func emptyOne(ctx context.Context, m lab.Machine) error {
	number, err := lab.Output(ctx, m, "id", "-u")
	if err == nil && number != "0" {
		err = fmt.Errorf("id -u says %s", number)
	}
	if err != nil {
		return fmt.Errorf("become root on host %s: %w", m.Name(), err)
	}
	found, err := lab.Output(ctx, m, "sh", "-c", remains)
	if err != nil {
		return fmt.Errorf("ask host %s what is on it: %w", m.Name(), err)
	}
	if found == "" {
		return nil
	}
	err = fmt.Errorf("host %s is not empty: it has %s", m.Name(), strings.ReplaceAll(found, "\n", ", "))
	if strings.Contains(found, lab.ForeignDir) {
		err = fmt.Errorf("%w; another run works on it, or has left it so: go run ./cmd/lab down --hosts FILE takes that back", err)
	}
	return err
}

// Packages as they are noted, keys of rpm among them.
const packages = `rpm -qa --qf '%{NAME}-%{VERSION}-%{RELEASE}\n' | sort`

// note makes the hosts this run's.
func note(ctx context.Context, machines []lab.Machine) error {
	for _, m := range machines {
		const script = `mkdir "$0" && cd "$0" && date +%s >began && ` + packages + ` >packages`
		if err := m.Exec(ctx, lab.Cmd{Args: []string{"sh", "-c", script, lab.ForeignDir}}); err != nil {
			return fmt.Errorf("note what host %s is like: %w", m.Name(), err)
		}
	}
	return nil
}

//go:embed giveback.sh
var giveBackScript string

// GiveBack takes back all that a run did to the hosts, in the order in which they
// leave a cluster. Hosts that no run has to do with are left alone.
func GiveBack(ctx context.Context, l *lab.Lab, log io.Writer) error {
	defer hangUp(l)
	var errs []error
	for _, m := range slices.Backward(l.Machines) {
		ours, err := lab.Output(ctx, m, "sh", "-c", `[ ! -e "$0" ] || echo ours`, lab.ForeignDir)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("give back host %s: %w", m.Name(), err))
		case ours == "":
			fmt.Fprintf(log, "host %s: no scenario has anything there, so it is left alone\n", m.Name())
		default:
			errs = append(errs, giveBackOne(ctx, m, log))
		}
	}
	return errors.Join(errs...)
}

func giveBackOne(ctx context.Context, m lab.Machine, log io.Writer) error {
	if err := m.PullStick(ctx); err != nil {
		return fmt.Errorf("give back host %s: %w", m.Name(), err)
	}
	took := lab.Cmd{Args: []string{"sh", "-s", lab.ForeignDir, supportFile(m)}, Stdin: strings.NewReader(giveBackScript)}
	if err := m.Exec(ctx, took); err != nil {
		return fmt.Errorf("give back host %s: %w", m.Name(), err)
	}
	// The run's own notes, which are still to be read, are no remains.
	const compare = packages + ` | comm -3 "$0/packages" - | sed -e 's/^\t/new: /' -e t -e 's/^/gone: /'; { ` + remains + `; } | sed "\\|^$0\$|d"`
	differs, err := lab.Output(ctx, m, "sh", "-c", compare, lab.ForeignDir)
	if err == nil && differs != "" {
		err = fmt.Errorf("it is not as it was: %s", strings.ReplaceAll(differs, "\n", ", "))
	}
	if err == nil {
		err = m.Exec(ctx, lab.Cmd{Args: []string{"rm", "-r", lab.ForeignDir}})
	}
	if err != nil {
		return fmt.Errorf("give back host %s: %w", m.Name(), err)
	}
	fmt.Fprintf(log, "host %s: given back, with the packages that it had\n", m.Name())
	return nil
}
