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

// A run on foreign hosts starts with hosts without files of airgap. It saves their state in
// lab.ForeignDir. At the end it cleans up, and compares the hosts with the saved state. A
// host without lab.ForeignDir does not belong to a run.

// RunOnHosts runs one scenario on the hosts of a hosts file.
func RunOnHosts(ctx context.Context, s Scenario, hosts lab.Hosts, program string, log io.Writer) error {
	if err := s.Elsewhere(); err != nil {
		return err
	}
	e, err := newEnv("hosts-"+s.Name, program, log)
	if err != nil {
		return fmt.Errorf("prepare %s: %w", s.Name, err)
	}
	e.hosts = &hosts
	return e.runScenario(ctx, s)
}

// onHosts runs job on foreign hosts, like WithServersOf in the lab. After a failure it saves the
// hosts' logs. With AIRGAP_LAB_KEEP it then does not clean up.
func (e *Env) onHosts(ctx context.Context, n int, job func(*lab.Lab) error) error {
	if n != len(e.hosts.Hosts) {
		return fmt.Errorf("the scenario needs %d hosts, but the hosts file has %d", n, len(e.hosts.Hosts))
	}
	l := lab.OpenHosts(e.Cache, e.run, *e.hosts)
	defer disconnect(l)
	if err := empty(ctx, e, l.Machines); err != nil {
		return fmt.Errorf("%w\nnothing was changed on any host", err)
	}
	err := saveState(ctx, l.Machines)
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
			return fmt.Errorf("%w\nthe run does not clean up the hosts; do it with: go run ./cmd/lab down --hosts FILE", err)
		}
	}
	return errors.Join(err, Clean(context.WithoutCancel(ctx), l, e.Log))
}

func disconnect(l *lab.Lab) {
	for _, m := range l.Machines {
		_ = m.Close(context.Background()) // closes the connection
	}
}

// remains prints a host's files and packages of airgap, of Kubernetes, and of another run.
const remains = `for f in /etc/airgap /etc/kubernetes /opt/airgap /var/lib/airgap /var/lib/etcd /var/lib/kubelet /var/log/airgap ` + lab.ForeignDir + `; do
	[ -z "$(ls -A $f 2>/dev/null)" ] || echo $f
done
for p in airgap kubeadm kubelet; do
	! rpm --quiet -q $p || echo package $p
done`

// introduction prints one line that describes a host, for the results page.
const introduction = `. /etc/os-release
has() { command -v $1 >/dev/null && "$@" 2>/dev/null || echo none; }
echo "$PRETTY_NAME, kernel $(uname -r), $(rpm --version)$(! rpm --quiet -q rpm-sequoia || echo ' with sequoia'), SELinux $(has getenforce), crypto policy $(has update-crypto-policies --show)$([ ! -e /etc/pki/consumer/cert.pem ] || echo ', subscribed')"`

// empty checks that the login becomes root on each host, and that the hosts have no
// remains. Its error contains all problems.
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
		err = fmt.Errorf("id -u prints %s", number)
	}
	if err != nil {
		return fmt.Errorf("become root on host %s: %w", m.Name(), err)
	}
	found, err := lab.Output(ctx, m, "sh", "-c", remains)
	if err != nil {
		return fmt.Errorf("check that host %s is empty: %w", m.Name(), err)
	}
	if found == "" {
		return nil
	}
	err = fmt.Errorf("host %s is not empty: it has %s", m.Name(), strings.ReplaceAll(found, "\n", ", "))
	if strings.Contains(found, lab.ForeignDir) {
		err = fmt.Errorf("%w; another run uses it, or did not clean up: clean up with go run ./cmd/lab down --hosts FILE", err)
	}
	return err
}

// packages prints the packages and the keys of rpm.
const packages = `rpm -qa --qf '%{NAME}-%{VERSION}-%{RELEASE}\n' | sort`

// saveState creates lab.ForeignDir on the hosts, with the time and the packages. It fails if
// the directory exists.
func saveState(ctx context.Context, machines []lab.Machine) error {
	for _, m := range machines {
		const script = `mkdir "$0" && cd "$0" && date +%s >began && ` + packages + ` >packages`
		if err := m.Exec(ctx, lab.Cmd{Args: []string{"sh", "-c", script, lab.ForeignDir}}); err != nil {
			return fmt.Errorf("save the state of host %s: %w", m.Name(), err)
		}
	}
	return nil
}

//go:embed cleanup.sh
var cleanUpScript string

// Clean cleans up the hosts of a run, in the order in which they leave a cluster. It does
// not change hosts without lab.ForeignDir.
func Clean(ctx context.Context, l *lab.Lab, log io.Writer) error {
	defer disconnect(l)
	var errs []error
	for _, m := range slices.Backward(l.Machines) {
		used, err := lab.Output(ctx, m, "sh", "-c", `[ ! -e "$0" ] || echo used`, lab.ForeignDir)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("clean up host %s: %w", m.Name(), err))
		case used == "":
			fmt.Fprintf(log, "host %s: has no files of a run, not changed\n", m.Name())
		default:
			errs = append(errs, cleanUpOne(ctx, m, log))
		}
	}
	return errors.Join(errs...)
}

func cleanUpOne(ctx context.Context, m lab.Machine, log io.Writer) error {
	if err := m.PullStick(ctx); err != nil {
		return fmt.Errorf("clean up host %s: %w", m.Name(), err)
	}
	script := lab.Cmd{Args: []string{"sh", "-s", lab.ForeignDir, supportFile(m)}, Stdin: strings.NewReader(cleanUpScript)}
	if err := m.Exec(ctx, script); err != nil {
		return fmt.Errorf("clean up host %s: %w", m.Name(), err)
	}
	// lab.ForeignDir itself is not one of the remains: the comparison reads it.
	const compare = packages + ` | comm -3 "$0/packages" - | sed -e 's/^\t/new: /' -e t -e 's/^/gone: /'; { ` + remains + `; } | sed "\\|^$0\$|d"`
	differs, err := lab.Output(ctx, m, "sh", "-c", compare, lab.ForeignDir)
	if err == nil && differs != "" {
		err = fmt.Errorf("it differs from its state before the run: %s", strings.ReplaceAll(differs, "\n", ", "))
	}
	if err == nil {
		err = m.Exec(ctx, lab.Cmd{Args: []string{"rm", "-r", lab.ForeignDir}})
	}
	if err != nil {
		return fmt.Errorf("clean up host %s: %w", m.Name(), err)
	}
	fmt.Fprintf(log, "host %s: cleaned up, with the same packages as before\n", m.Name())
	return nil
}
