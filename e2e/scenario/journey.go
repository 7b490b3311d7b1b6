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

// Journey is the main job, from the survey to the verdict, and that running
// everything twice changes nothing.
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
	return e.Bank(ctx, 2, func(l *lab.Lab) error {
		first, worker := l.Machines[0], l.Machines[1]
		return e.InOrder([]Part{
			WithNeed(e, needAirGap, Part{"there is no way out", func() error { return NoRoute(ctx, first) }}),
			{"survey", func() error { return e.Survey(ctx, l.Machines...) }},
			{"survey by script", func() error { return SurveyByScript(ctx, e, worker) }},
			WithNeed(e, NeedUpstream, Part{"plan", func() error { return closedWorld(ctx, e, named) }}),
			{"bundle", func() error { return signedBundle(ctx, e, stick, key, named) }},
			WithNeed(e, NeedUpstream, Part{"bundle, read by others", func() error { return readBundle(ctx, e, stick, key) }}),
			{"the program, from the stick", func() error { return e.Begin(ctx, first, stick) }},
			{"another key is required", func() error { return heldToAnother(ctx, e, first) }},
			{"preflight", func() error { return Preflight(ctx, e, first) }},
			{"install, twice", func() error { return e.Install(ctx, first, "--require-key", key.fingerprint) }},
			{"join, twice", func() error { return e.Join(ctx, first, worker, stick) }},
			{"the key is required of both", func() error { return heldToIt(ctx, e, key, first, worker) }},
			{"verify", func() error { return e.Verified(ctx, first) }},
			{"each host reports what only it knows", func() error { return reported(ctx, e, first, worker) }},
			{"crictl asks the runtime", func() error { return errors.Join(crictlSees(ctx, e, first), crictlSees(ctx, e, worker)) }},
			{"the control plane is backed up", func() error { return backedUp(ctx, e, first, worker) }},
			{"the certificate is looked after", func() error { return renewal(ctx, e, first) }},
			{"the cluster is verified and renewed by timers", func() error { return upkeep(ctx, e, first, worker) }},
			WithNeed(e, NeedUpstream, Part{"add-ons", func() error { return addonsRun(ctx, e, first) }}),
			WithNeed(e, NeedUpstream, Part{"a workload", func() error { return e.Workload(ctx, first) }}),
			{"a broken pod is found", func() error { return Broken(ctx, e, first, "not found") }},
			{"a support bundle of each", func() error { return supportBundles(ctx, e, first, worker) }},
			{"status, and the worker reset", func() error { return resetWorker(ctx, e, first, worker) }},
			{"its report goes with its node", func() error { return forgotten(ctx, e, first, worker) }},
		})
	})
}

// crictlSees has crictl, which much advice names, say what runs, and complain of nothing.
func crictlSees(ctx context.Context, e *Env, m lab.Machine) error {
	r, err := e.Must(ctx, m, nil, "crictl", "ps", "--name", "kube-proxy", "--output", "json")
	if err != nil {
		return err
	}
	if r.Stderr != "" || !strings.Contains(r.Stdout, `"CONTAINER_RUNNING"`) {
		return fmt.Errorf("%s: crictl has no kube-proxy that runs, or complains: %q, %q", m.Name(), r.Stdout, r.Stderr)
	}
	return nil
}

// Survey carries the program in and the facts of every server out.
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

// MakeBundle makes the bundle from the servers' facts, and again for nothing.
// edits change airgap.yaml.
func (e *Env) MakeBundle(ctx context.Context, stick string, edits ...string) error {
	config, err := e.Config("airgap.yaml", edits...)
	if err != nil {
		return err
	}
	return BundleTwice(ctx, e, "-f", config, "-o", stick)
}

// signedBundle is makeBundle with the site's key.
func signedBundle(ctx context.Context, e *Env, stick string, key siteKey, edits []string) error {
	config, err := e.Config("airgap.yaml", edits...)
	if err != nil {
		return err
	}
	return BundleTwice(ctx, e, "-f", config, "-o", stick, "--sign-key", key.file)
}

// BundleTwice makes a bundle, and wants the second run to find nothing to do.
func BundleTwice(ctx context.Context, e *Env, flags ...string) error {
	args := append([]string{"bundle", "--facts", e.Facts()}, flags...)
	if err := e.Do(ctx, 0, []string{"images", "packages", "proven against"}, args...); err != nil {
		return err
	}
	return e.Do(ctx, 0, []string{"already complete"}, args...)
}

// readBundle reads it with the program and with other people's tools.
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

// inDir runs lines of shell in a directory of the connected host.
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

// NoRoute wants a server to reach no address outside.
func NoRoute(ctx context.Context, m lab.Machine) error {
	for _, address := range []string{"192.0.2.1", "198.51.100.7"} {
		said, err := lab.Output(ctx, m, "sh", "-c", "bash -c 'exec 3<>/dev/tcp/"+address+"/443' 2>&1")
		if err == nil {
			return fmt.Errorf("a connection to %s was made", address)
		}
		if !strings.Contains(said, "unreachable") {
			return fmt.Errorf("a connection to %s: %w: %s", address, err, said)
		}
	}
	return nil
}

// Begin does what INSTALL.txt says: the key, the RPM.
func (e *Env) Begin(ctx context.Context, m lab.Machine, stick string) error {
	if err := m.AttachStick(ctx, stick); err != nil {
		return err
	}
	return e.Script(ctx, m,
		"cd "+e.OnStick()+" && d=$(mktemp -d) && rpm --dbpath $d --import RPM-GPG-KEY-airgap && rpm --dbpath $d -q gpg-pubkey | grep -c . | grep -qx 1; code=$?; rm -rf $d; exit $code",
		"cd "+e.OnStick()+" && rpm --import RPM-GPG-KEY-airgap && rpm -K airgap.rpm | grep -q 'digests signatures OK' && rpm -U --oldpackage --replacepkgs airgap.rpm",
		"airgap --version")
}

// LabSkips are the checks that depend on the machine below: a server in the lab has its
// clock, which nobody synchronizes, and its disk, however full that is.
const LabSkips = ClockSkip + ",disk-space"

const ClockSkip = "--skip=time-sync"

// WithDisks is a command that looks at the disks, too.
func WithDisks(command []string) []string {
	command = slices.Clone(command)
	command[slices.Index(command, LabSkips)] = ClockSkip
	return command
}

// Preflight wants a server to pass, and its report to say so.
func Preflight(ctx context.Context, e *Env, m lab.Machine) error {
	if _, err := e.Must(ctx, m, []string{"passed"}, "airgap", "preflight", e.Skips(), e.OnStick()); err != nil {
		return err
	}
	return e.Script(ctx, m,
		"airgap preflight --only swap,memory "+e.OnStick()+" | grep -c '  pass  ' | grep -qx 2",
		"! test -e /var/lib/airgap/journal.jsonl")
}

// Installed is what `airgap install --output json` prints.
type Installed struct {
	Node               string
	Changed, Unchanged int
	Join               []JoinLine
}

// AirgapOn runs airgap on a server and returns what it printed as JSON.
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

// Install installs on the first server.
func (e *Env) Install(ctx context.Context, m lab.Machine, flags ...string) error {
	dir := e.OnStick()
	done, err := e.AirgapOn(ctx, m, "", append([]string{"install", e.Skips(), dir}, flags...)...)
	if err != nil {
		return err
	}
	if done.Changed == 0 || len(done.Join) != 1 || done.Join[0].Code == "" {
		return fmt.Errorf("install says %+v", done)
	}
	again, err := e.AirgapOn(ctx, m, "", "install", e.Skips(), dir)
	if err == nil && (again.Changed != 0 || again.Unchanged != done.Changed+done.Unchanged) {
		err = fmt.Errorf("a second install says %+v, want nothing changed", again)
	}
	return err
}

// JoinLine is how a host joins.
type JoinLine struct{ Node, Line, Code string }

// JoinArgs are those of the airgap command.
func (e *Env) JoinArgs(j JoinLine) []string { return append(strings.Fields(j.Line)[1:], e.Skips()) }

// JoinLine asks a control-plane host for the line and a fresh code.
func (e *Env) JoinLine(ctx context.Context, first lab.Machine, node string) (j JoinLine, err error) {
	r, err := e.Must(ctx, first, nil, "airgap", "join", "--new-code", "--node", node, "--output", "json")
	if err != nil {
		return j, err
	}
	return j, json.Unmarshal([]byte(r.Stdout), &j)
}

// CodeFile puts a code on the worker and gives the command that joins with it.
func CodeFile(ctx context.Context, e *Env, first, worker lab.Machine) ([]string, error) {
	line, err := e.JoinLine(ctx, first, worker.Name())
	if err != nil {
		return nil, err
	}
	r, err := e.On(ctx, worker, line.Code, "sh", "-c", "umask 077; cat >/root/code")
	if err != nil {
		return nil, err
	}
	return append([]string{"airgap"}, append(e.JoinArgs(line), "--code-file", "/root/code")...), r.Want("write the code", 0)
}

// Join joins a server by a code of the first one.
func (e *Env) Join(ctx context.Context, first, worker lab.Machine, stick string) error {
	line, err := e.JoinLine(ctx, first, worker.Name())
	if err != nil {
		return err
	}
	if err := e.Begin(ctx, worker, stick); err != nil {
		return err
	}
	if err := worker.PullStick(ctx); err != nil { // it needs airgap.rpm, and then nothing but the line
		return err
	}
	args := e.JoinArgs(line)
	joined, err := e.AirgapOn(ctx, worker, line.Code+"\n", args...)
	if err != nil {
		return err
	}
	if joined.Changed == 0 {
		return fmt.Errorf("join says %+v", joined)
	}
	again, err := e.AirgapOn(ctx, worker, "", args...)
	if err == nil && again.Changed != 0 {
		err = fmt.Errorf("a second join says %+v, want nothing changed", again)
	}
	return err
}

// Verified wants verify to hold on a server.
func (e *Env) Verified(ctx context.Context, m lab.Machine) error {
	_, err := e.Must(ctx, m, nil, "airgap", "verify", e.Skips(), "--timeout", "3m")
	return err
}

// renewal wants the timer to run, and what it starts to be content.
func renewal(ctx context.Context, e *Env, m lab.Machine) error {
	return e.Script(ctx, m,
		"systemctl is-active --quiet airgap-registry-renew.timer",
		"systemctl start airgap-registry-renew.service",
		"journalctl --unit airgap-registry-renew.service --output cat | grep -q \"certificate is good until\"")
}

// resetWorker takes back what join did to the worker; what it was told to
// remember is gone, what airgap.rpm brought stays.
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
