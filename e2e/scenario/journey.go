package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"airgap.dev/airgap/e2e/lab"
)

// Journey runs the main workflow from survey to verify, and checks that a second run of each
// command changes nothing.
func Journey(ctx context.Context, e *Env) error {
	stick := filepath.Join(e.Work, "stick")
	named, err := withAddons(e)
	if err != nil {
		return err
	}
	key, err := newSiteKey(ctx, e)
	if err != nil {
		return err
	}
	return e.WithServers(ctx, 2, func(l *lab.Lab) error {
		first, worker := l.Machines[0], l.Machines[1]
		return e.InOrder([]Part{
			WithNeed(e, needAirGap, Part{"no route out", func() error { return NoRoute(ctx, first) }}),
			{"survey", func() error { return e.Survey(ctx, l.Machines...) }},
			{"survey by script", func() error { return SurveyByScript(ctx, e, worker) }},
			WithNeed(e, NeedUpstream, Part{"plan", func() error { return planShowsSources(ctx, e, named) }}),
			{"bundle", func() error { return signedBundle(ctx, e, stick, key, named) }},
			WithNeed(e, NeedUpstream, Part{"read the bundle with other tools", func() error { return readBundle(ctx, e, stick, key) }}),
			{"the program, from the stick", func() error { return e.InstallProgram(ctx, first, stick) }},
			{"another key is required", func() error { return requiresAnotherKey(ctx, e, first) }},
			{"preflight", func() error { return Preflight(ctx, e, first) }},
			{"install, twice", func() error { return e.Install(ctx, first, "--require-key", key.fingerprint) }},
			{"join, twice", func() error { return e.Join(ctx, first, worker, stick) }},
			{"both hosts require the key", func() error { return requiresKey(ctx, e, key, first, worker) }},
			{"verify", func() error { return e.Verified(ctx, first) }},
			{"each host has a node report", func() error { return checkReports(ctx, e, first, worker) }},
			{"crictl works", func() error { return errors.Join(crictlSees(ctx, e, first), crictlSees(ctx, e, worker)) }},
			{"the control plane is backed up", func() error { return backedUp(ctx, e, first, worker) }},
			{"the certificate is renewed by a timer", func() error { return renewal(ctx, e, first) }},
			{"the cluster is verified and renewed by timers", func() error { return upkeep(ctx, e, first, worker) }},
			WithNeed(e, NeedUpstream, Part{"add-ons", func() error { return addonsRun(ctx, e, first) }}),
			WithNeed(e, NeedUpstream, Part{"a workload", func() error { return e.Workload(ctx, first) }}),
			{"a broken pod is found", func() error { return Broken(ctx, e, first, "not found") }},
			{"support bundles of both hosts", func() error { return supportBundles(ctx, e, first, worker) }},
			{"status, and the worker reset", func() error { return resetWorker(ctx, e, first, worker) }},
			{"its report is deleted with its node", func() error { return reportDeleted(ctx, e, first, worker) }},
		})
	})
}

// crictlSees checks that crictl, which many guides use, lists containers without warnings.
func crictlSees(ctx context.Context, e *Env, m lab.Machine) error {
	r, err := e.Must(ctx, m, nil, "crictl", "ps", "--name", "kube-proxy", "--output", "json")
	if err != nil {
		return err
	}
	if r.Stderr != "" || !strings.Contains(r.Stdout, `"CONTAINER_RUNNING"`) {
		return fmt.Errorf("%s: crictl lists no running kube-proxy, or prints warnings: %q, %q", m.Name(), r.Stdout, r.Stderr)
	}
	return nil
}

// Survey copies the program to every server and saves the server's facts in e.Facts.
func (e *Env) Survey(ctx context.Context, machines ...lab.Machine) error {
	if err := os.MkdirAll(e.Facts(), 0o755); err != nil {
		return err
	}
	for _, m := range machines {
		program, err := os.Open(e.Program)
		if err != nil {
			return err
		}
		err = lab.PutFile(ctx, m, "/root/airgap", 0o755, program)
		program.Close()
		if err != nil {
			return err
		}
		out, err := os.Create(filepath.Join(e.Facts(), m.Name()+".facts.yaml"))
		if err != nil {
			return err
		}
		err = m.Exec(ctx, lab.Cmd{Args: []string{"/root/airgap", "survey", "--output", "yaml"}, Stdout: out})
		if err = errors.Join(err, out.Close(), e.Script(ctx, m, "rm /root/airgap")); err != nil {
			return err
		}
	}
	return nil
}

// Facts returns the directory of the servers' facts.
func (e *Env) Facts() string { return filepath.Join(e.Work, "facts") }

// MakeBundle makes the bundle from the servers' facts, and checks that a second run changes
// nothing. edits change airgap.yaml.
func (e *Env) MakeBundle(ctx context.Context, stick string, edits ...string) error {
	config, err := e.Config("airgap.yaml", edits...)
	if err != nil {
		return err
	}
	return BundleTwice(ctx, e, "-f", config, "-o", stick)
}

// signedBundle makes the bundle like MakeBundle, signed with the site's key.
func signedBundle(ctx context.Context, e *Env, stick string, key siteKey, edits []string) error {
	config, err := e.Config("airgap.yaml", edits...)
	if err != nil {
		return err
	}
	return BundleTwice(ctx, e, "-f", config, "-o", stick, "--sign-key", key.file)
}

// BundleTwice makes a bundle, and checks that the second run has nothing to do.
func BundleTwice(ctx context.Context, e *Env, flags ...string) error {
	args := append([]string{"bundle", "--facts", e.Facts()}, flags...)
	if err := e.Do(ctx, 0, []string{"images", "packages", "proven against"}, args...); err != nil {
		return err
	}
	return e.Do(ctx, 0, []string{"already complete"}, args...)
}

// readBundle checks the bundle with airgap and with other tools.
func readBundle(ctx context.Context, e *Env, stick string, key siteKey) error {
	dir := filepath.Join(stick, "bank")
	if err := e.Do(ctx, 0, []string{"every byte verified", "registry.k8s.io/pause:3.10.2", "kubelet"}, "inspect", dir, "--full", "--list", "--require-key", key.fingerprint); err != nil {
		return err
	}
	return foreignTools(ctx, e, dir)
}

// foreignTools checks the bundle without airgap, as INSTALL.txt promises.
func foreignTools(ctx context.Context, e *Env, dir string) error {
	out := filepath.Join(e.Work, "out")
	defer os.RemoveAll(out)
	if err := inDir(ctx, dir,
		"sha256sum --quiet -c SHA256SUMS",
		"openssl dgst -sha256 -verify airgap.pub -signature SHA256SUMS.sig SHA256SUMS",
		"for book in docs.html docs.ko.html; do grep -q \"  $book\\$\" SHA256SUMS && grep -q '<section id=' $book; done",
		"mkdir "+out+" && cat bundle.tar.* | tar x -C "+out,
		"gpg --batch --yes --dearmor -o "+out+"/key.gpg RPM-GPG-KEY-airgap",
	); err != nil {
		return err
	}
	if err := inDir(ctx, out,
		"skopeo inspect oci:oci:registry.k8s.io/pause:3.10.2 | grep -q amd64",
		"skopeo copy --quiet --all oci:oci:registry.k8s.io/kube-apiserver:v1.36.3 dir:apiserver",
		"gpgv --keyring ./key.gpg rpm/el9/repodata/repomd.xml.asc rpm/el9/repodata/repomd.xml",
	); err != nil {
		return err
	}
	return cranePush(ctx, e, filepath.Join(out, "oci"))
}

// inDir runs shell lines in a directory of the connected host.
func inDir(ctx context.Context, dir string, lines ...string) error {
	for _, line := range lines {
		cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", line)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", line, err, out)
		}
	}
	return nil
}

// NoRoute checks that a server cannot reach an address outside.
func NoRoute(ctx context.Context, m lab.Machine) error {
	for _, address := range []string{"192.0.2.1", "198.51.100.7"} {
		output, err := lab.Output(ctx, m, "sh", "-c", "bash -c 'exec 3<>/dev/tcp/"+address+"/443' 2>&1")
		if err == nil {
			return fmt.Errorf("connect to %s: got a connection, want unreachable", address)
		}
		if !strings.Contains(output, "unreachable") {
			return fmt.Errorf("connect to %s: %w: %s", address, err, output)
		}
	}
	return nil
}

// InstallProgram runs the first steps of INSTALL.txt: it imports the key and installs the RPM.
func (e *Env) InstallProgram(ctx context.Context, m lab.Machine, stick string) error {
	if err := m.AttachStick(ctx, stick); err != nil {
		return err
	}
	return e.Script(ctx, m,
		"cd "+e.BundleOnStick()+" && d=$(mktemp -d) && rpm --dbpath $d --import RPM-GPG-KEY-airgap && rpm --dbpath $d -q gpg-pubkey | grep -c . | grep -qx 1; code=$?; rm -rf $d; exit $code",
		"cd "+e.BundleOnStick()+" && rpm --import RPM-GPG-KEY-airgap && rpm -K airgap.rpm | grep -q 'digests signatures OK' && rpm -U --oldpackage --replacepkgs airgap.rpm",
		"airgap --version")
}

// LabSkips are the checks that depend on the outer machine: a server in the lab uses its
// clock, which is not synchronized, and its disk, which may be full.
const LabSkips = ClockSkip + ",disk-space"

// ClockSkip is the part of LabSkips for the clock.
const ClockSkip = "--skip=time-sync"

// Preflight checks that a server passes preflight, and its report.
func Preflight(ctx context.Context, e *Env, m lab.Machine) error {
	if _, err := e.Must(ctx, m, []string{"passed"}, "airgap", "preflight", e.Skips(), e.BundleOnStick()); err != nil {
		return err
	}
	return e.Script(ctx, m,
		"airgap preflight --only swap,memory "+e.BundleOnStick()+" | grep -c '  pass  ' | grep -qx 2",
		"! test -e /var/lib/airgap/journal.jsonl")
}

// Installed is the output of `airgap install --output json`.
type Installed struct {
	Node               string
	Changed, Unchanged int
	Join               []JoinLine
}

// AirgapOn runs airgap on a server and returns its JSON output.
func (e *Env) AirgapOn(ctx context.Context, m lab.Machine, stdin string, args ...string) (Installed, error) {
	var done Installed
	env, err := environment(e)
	if err != nil {
		return done, err
	}
	argv := slices.Concat([]string{"sh", "-c", `umask $0; exec "$@"`, umask(args[0]), "airgap"}, args, []string{"--output", "json"})
	r, err := e.exec(ctx, m, lab.Cmd{Args: argv, Env: env, Stdin: strings.NewReader(stdin)})
	if err != nil {
		return done, err
	}
	if err := r.Want(m.Name()+": airgap "+args[0], 0); err != nil {
		return done, err
	}
	fmt.Fprint(e.Log, r.Stderr)
	return done, json.Unmarshal([]byte(r.Stdout), &done)
}

// Install installs on the first server, and checks that a second install changes nothing.
func (e *Env) Install(ctx context.Context, m lab.Machine, flags ...string) error {
	dir := e.BundleOnStick()
	done, err := e.AirgapOn(ctx, m, "", append([]string{"install", e.Skips(), dir}, flags...)...)
	if err != nil {
		return err
	}
	if done.Changed == 0 || len(done.Join) != 1 || done.Join[0].Code == "" {
		return fmt.Errorf("install reports %+v", done)
	}
	again, err := e.AirgapOn(ctx, m, "", "install", e.Skips(), dir)
	if err == nil && (again.Changed != 0 || again.Unchanged != done.Changed+done.Unchanged) {
		err = fmt.Errorf("a second install reports %+v, want nothing changed", again)
	}
	return err
}

// JoinLine is the command with which a host joins, and its token.
type JoinLine struct{ Node, Line, Code string }

// JoinArgs returns the arguments of airgap for a join command.
func (e *Env) JoinArgs(j JoinLine) []string { return append(strings.Fields(j.Line)[1:], e.Skips()) }

// JoinLine creates a join command with a new token on a control-plane host.
func (e *Env) JoinLine(ctx context.Context, first lab.Machine, node string) (j JoinLine, err error) {
	r, err := e.Must(ctx, first, nil, "airgap", "join", "--new-token", "--node", node, "--output", "json")
	if err != nil {
		return j, err
	}
	return j, json.Unmarshal([]byte(r.Stdout), &j)
}

// TokenFile writes a token to a file on the worker and returns the command that joins with it.
func TokenFile(ctx context.Context, e *Env, first, worker lab.Machine) ([]string, error) {
	line, err := e.JoinLine(ctx, first, worker.Name())
	if err != nil {
		return nil, err
	}
	r, err := e.On(ctx, worker, line.Code, "sh", "-c", "umask 077; cat >/root/code")
	if err != nil {
		return nil, err
	}
	return append([]string{"airgap"}, append(e.JoinArgs(line), "--token-file", "/root/code")...), r.Want("write the token", 0)
}

// Join joins a server with a token of the first one, and checks that a second join changes
// nothing.
func (e *Env) Join(ctx context.Context, first, worker lab.Machine, stick string) error {
	line, err := e.JoinLine(ctx, first, worker.Name())
	if err != nil {
		return err
	}
	if err := e.InstallProgram(ctx, worker, stick); err != nil {
		return err
	}
	if err := worker.PullStick(ctx); err != nil { // join needs only airgap.rpm and the command
		return err
	}
	args := e.JoinArgs(line)
	joined, err := e.AirgapOn(ctx, worker, line.Code+"\n", args...)
	if err != nil {
		return err
	}
	if joined.Changed == 0 {
		return fmt.Errorf("join reports %+v", joined)
	}
	again, err := e.AirgapOn(ctx, worker, "", args...)
	if err == nil && again.Changed != 0 {
		err = fmt.Errorf("a second join reports %+v, want nothing changed", again)
	}
	return err
}

// Verified checks that verify passes on a server.
func (e *Env) Verified(ctx context.Context, m lab.Machine) error {
	_, err := e.Must(ctx, m, nil, "airgap", "verify", e.Skips(), "--timeout", "3m")
	return err
}

// renewal checks that the timer is active, and that its service succeeds.
func renewal(ctx context.Context, e *Env, m lab.Machine) error {
	return e.Script(ctx, m,
		"systemctl is-active --quiet airgap-registry-renew.timer",
		"systemctl start airgap-registry-renew.service",
		"journalctl --unit airgap-registry-renew.service --output cat | grep -q \"certificate is good until\"")
}

// resetWorker resets the worker and checks that reset removes all files of join and keeps the
// files of airgap.rpm.
func resetWorker(ctx context.Context, e *Env, first, worker lab.Machine) error {
	if _, err := e.Must(ctx, first, []string{"answers at " + first.Addr().String() + ":5000", e.ClusterName(), "kubeadm", "2 of 2 nodes ready"}, "airgap", "status"); err != nil {
		return err
	}
	if _, err := e.Must(ctx, worker, []string{"undone: "}, "airgap", "reset", "--yes"); err != nil {
		return err
	}
	return e.Script(ctx, worker,
		"! rpm -q kubelet >/dev/null",
		"! test -e /opt/airgap/bin/containerd",
		"! test -e /etc/kubernetes/kubelet.conf",
		"! test -e /etc/sysctl.d/90-airgap.conf",
		"! test -e /etc/airgap/pki/ca.crt",
		"! systemctl is-active --quiet containerd",
		"! systemctl is-active --quiet airgap-node-report && ! systemctl is-enabled --quiet airgap-node-report && ! test -e /var/lib/airgap/report.json",
		"! systemctl is-active --quiet airgap-certs-renew.timer && ! systemctl is-enabled --quiet airgap-certs-renew.timer",
		"airgap reset --yes | grep -q 'nothing to undo'")
}
