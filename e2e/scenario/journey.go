package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"airgap.dev/airgap/e2e/lab"
)

// journey is the main job, from the connected host to the verdict, and that
// running everything twice changes nothing.
func journey(ctx context.Context, e *Env) error {
	stick := filepath.Join(e.Work, "stick")
	if err := e.bundleOnce(ctx, stick); err != nil {
		return err
	}
	return e.Bank(ctx, 2, func(l *lab.Lab) error {
		first, worker := l.Machines[0], l.Machines[1]
		for _, job := range []struct {
			title string
			run   func() error
		}{
			{"there is no way out", func() error { return e.noRoute(ctx, first) }},
			{"the program, from the stick", func() error { return e.begin(ctx, first, stick) }},
			{"preflight", func() error { return e.preflight(ctx, first) }},
			{"install", func() error { return e.installAndJoin(ctx, first, worker, stick) }},
			{"verify", func() error { return e.verified(ctx, first) }},
			{"a workload", func() error { return e.workload(ctx, first) }},
			{"a broken pod is found", func() error { return e.broken(ctx, first) }},
		} {
			began := time.Now()
			if err := job.run(); err != nil {
				return fmt.Errorf("%s: %w", job.title, err)
			}
			fmt.Fprintf(e.Log, "journey: %-32s %6.1f s\n", job.title, time.Since(began).Seconds())
		}
		return nil
	})
}

// bundleOnce makes the bundle, makes it again for nothing, and reads it with
// other people's tools.
func (e *Env) bundleOnce(ctx context.Context, stick string) error {
	config, err := e.Config("airgap.yaml")
	if err != nil {
		return err
	}
	began := time.Now()
	if err := e.do(ctx, 0, []string{"images", "packages"}, "bundle", "-f", config, "-o", stick); err != nil {
		return err
	}
	fmt.Fprintf(e.Log, "journey: %-32s %6.1f s\n", "bundle", time.Since(began).Seconds())
	if err := e.do(ctx, 0, []string{"complete already"}, "bundle", "-f", config, "-o", stick); err != nil {
		return fmt.Errorf("a second run: %w", err)
	}
	dir := filepath.Join(stick, "bank")
	if err := e.do(ctx, 0, []string{"every byte verified", "registry.k8s.io/pause:3.10.2", "kubelet"}, "inspect", dir, "--full", "--list"); err != nil {
		return err
	}
	return foreignTools(ctx, dir)
}

// foreignTools checks the bundle without airgap, as INSTALL.txt promises.
func foreignTools(ctx context.Context, dir string) error {
	for _, line := range []string{
		"sha256sum --quiet -c SHA256SUMS",
		"openssl dgst -sha256 -verify airgap.pub -signature SHA256SUMS.sig SHA256SUMS",
		"mkdir ../out && cat bundle.tar.* | tar x -C ../out",
		"skopeo inspect oci:../out/oci:registry.k8s.io/pause:3.10.2 >../pause.json",
		"skopeo copy -q oci:../out/oci:registry.k8s.io/kube-apiserver:v1.36.3 dir:../apiserver",
		"gpg --batch --yes --dearmor -o ../key.gpg RPM-GPG-KEY-airgap && gpgv --keyring ../key.gpg ../out/rpm/el9/repodata/repomd.xml.asc ../out/rpm/el9/repodata/repomd.xml",
		"rm -rf ../out ../apiserver ../pause.json ../key.gpg",
	} {
		cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", line)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", line, err, out)
		}
	}
	return nil
}

func (e *Env) noRoute(ctx context.Context, m lab.Machine) error {
	for _, address := range []string{"192.0.2.1", "198.51.100.7"} {
		r, err := e.On(ctx, m, "", "curl", "-sS", "--max-time", "5", "http://"+address+"/")
		if err != nil {
			return err
		}
		if r.Code == 0 || !strings.Contains(r.Stderr, "unreachable") {
			return fmt.Errorf("a request to %s ended with %d: %s", address, r.Code, r.Stderr)
		}
	}
	return nil
}

// begin does what INSTALL.txt says: the key, the RPM.
func (e *Env) begin(ctx context.Context, m lab.Machine, stick string) error {
	if err := m.AttachStick(ctx, stick); err != nil {
		return err
	}
	return e.script(ctx, m,
		"cd "+lab.StickPath+"/bank && rpm --import RPM-GPG-KEY-airgap && rpm -K airgap.rpm | grep -q 'digests signatures OK' && rpm -i airgap.rpm",
		"airgap --version")
}

func (e *Env) preflight(ctx context.Context, m lab.Machine) error {
	if _, err := e.must(ctx, m, []string{"passed"}, "airgap", "preflight", lab.StickPath+"/bank"); err != nil {
		return err
	}
	_, err := e.must(ctx, m, []string{"VERSION_ID", "9.6"}[1:], "airgap", "survey", "--output", "json")
	if err != nil {
		return err
	}
	r, err := e.On(ctx, m, "", "ls", "/var/lib/airgap/journal.jsonl")
	if err == nil && r.Code == 0 {
		return errors.New("preflight wrote a journal: it changed the host")
	}
	return err
}

// installed is what `airgap install --output json` prints.
type installed struct {
	Node               string
	Changed, Unchanged int
	Join               struct{ Line, Code string }
}

func (e *Env) airgapOn(ctx context.Context, m lab.Machine, stdin string, args ...string) (installed, error) {
	var done installed
	r, err := e.On(ctx, m, stdin, append([]string{"airgap"}, append(args, "--output", "json")...)...)
	if err != nil {
		return done, err
	}
	if err := r.want(m.Name()+": airgap "+args[0], 0); err != nil {
		return done, err
	}
	fmt.Fprint(e.Log, r.Stderr)
	return done, json.Unmarshal([]byte(r.Stdout), &done)
}

func (e *Env) installAndJoin(ctx context.Context, first, worker lab.Machine, stick string) error {
	dir := lab.StickPath + "/bank"
	done, err := e.airgapOn(ctx, first, "", "install", dir)
	if err != nil {
		return err
	}
	if done.Changed == 0 || done.Join.Code == "" {
		return fmt.Errorf("install says %+v", done)
	}
	again, err := e.airgapOn(ctx, first, "", "install", dir)
	if err != nil {
		return err
	}
	if again.Changed != 0 || again.Unchanged != done.Changed+done.Unchanged {
		return fmt.Errorf("a second install says %+v, want nothing changed", again)
	}
	return e.joinWorker(ctx, worker, stick, done.Join.Line, done.Join.Code)
}

func (e *Env) joinWorker(ctx context.Context, worker lab.Machine, stick, line, code string) error {
	if err := e.begin(ctx, worker, stick); err != nil {
		return err
	}
	if err := worker.PullStick(ctx); err != nil { // it needs airgap.rpm, and then nothing but the line
		return err
	}
	args := strings.Fields(line)[1:]
	joined, err := e.airgapOn(ctx, worker, code+"\n", args...)
	if err != nil {
		return err
	}
	if joined.Changed == 0 {
		return fmt.Errorf("join says %+v", joined)
	}
	again, err := e.airgapOn(ctx, worker, "", args...)
	if err == nil && again.Changed != 0 {
		err = fmt.Errorf("a second join says %+v, want nothing changed", again)
	}
	return err
}

func (e *Env) verified(ctx context.Context, m lab.Machine) error {
	_, err := e.must(ctx, m, nil, "airgap", "verify", "--timeout", "3m")
	return err
}
