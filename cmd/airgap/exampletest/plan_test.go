package exampletest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/ui"
)

// built builds airgap like make build, with airgap-probe next to it. The program must be static, because
// it is copied to USB drives. The binary of a test is not static.
func built(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", dir, "airgap.dev/airgap/cmd/airgap", "airgap.dev/airgap/cmd/airgap-probe")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return filepath.Join(dir, "airgap")
}

// outcome is the result of airgap bundle --plan.
type outcome struct {
	code  int
	said  []string // warnings and the like
	wrong string   // the error and its hint
	lock  bundle.Lock
	asked []string // hosts
}

// plan runs the program in an empty directory.
func plan(t testing.TB, program string, u *upstream, s site) outcome {
	t.Helper()
	args := []string{"bundle", "-f", s.config(), "--plan", "--output", "json", "--progress", "json"}
	if s.facts != "" {
		args = append(args, "--facts", s.facts)
	}
	cmd := exec.CommandContext(t.Context(), program, append(args, s.flags...)...)
	cmd.Env, cmd.Dir = s.env, t.TempDir()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	u.hosts()
	err := cmd.Run()
	if _, is := errors.AsType[*exec.ExitError](err); err != nil && !is {
		t.Fatal(err)
	}
	o := outcome{code: cmd.ProcessState.ExitCode(), asked: u.hosts()}
	var wrong []string
	for line := range strings.Lines(stderr.String()) {
		var e ui.Event
		switch {
		case json.Unmarshal([]byte(line), &e) != nil:
			wrong = append(wrong, strings.ReplaceAll(line, s.dir+"/", ""))
		case e.Event == "say":
			o.said = append(o.said, e.Text)
		}
	}
	o.wrong = strings.Join(wrong, "")
	if o.code == 0 {
		must(t, json.Unmarshal(stdout.Bytes(), &o.lock))
		wantSaid(t, o.said, stdout.Bytes())
	}
	return o
}

// wantSaid checks that the JSON result has the notes of the terminal, too.
func wantSaid(t testing.TB, said []string, result []byte) {
	t.Helper()
	var in struct{ Notices, Remarks []string }
	must(t, json.Unmarshal(result, &in))
	for prefix, sentences := range map[string][]string{"not checked: ": in.Notices, "note: ": in.Remarks} {
		for _, s := range said {
			if text, is := strings.CutPrefix(s, prefix); is && !slices.Contains(sentences, text) {
				t.Errorf("the JSON has no %q", s)
			}
		}
	}
}

// String returns the outcome without the image of airgap-probe, which changes with each build.
func (o outcome) String() string {
	var b strings.Builder
	for _, s := range o.said {
		fmt.Fprintln(&b, s)
	}
	if o.code != 0 {
		fmt.Fprintf(&b, "exit code %d\n%s", o.code, o.wrong)
		return b.String()
	}
	fmt.Fprintf(&b, "packages: %s\nasked: %s\n", o.lock.Proof, strings.Join(o.asked, ", "))
	for _, host := range slices.Sorted(maps.Keys(o.lock.Drivers)) {
		fmt.Fprintf(&b, "driver of %s: %s\n", host, o.lock.Drivers[host])
	}
	for _, r := range o.lock.Repositories {
		fmt.Fprintf(&b, "repository %s, metadata signed: %t\n", r.Name, r.SignedMetadata)
	}
	for _, i := range o.lock.Images {
		if strings.HasPrefix(i.Name, "airgap.dev/airgap-probe:") {
			continue
		}
		line(&b, "image "+i.Name, i.Size(), i.NeededBy, nil)
	}
	for _, p := range o.lock.Packages {
		line(&b, "package "+p.NEVRA.String(), p.Size, p.NeededBy, p.Hosts)
	}
	for _, f := range o.lock.Files {
		line(&b, "file "+f.Name, f.Size, f.NeededBy, nil)
	}
	for _, a := range o.lock.Addons {
		fmt.Fprintf(&b, "add-on %s in %s, chart %s %s\n", a.Name, a.Namespace, a.Chart.Name, a.Chart.Version)
	}
	if n := o.lock.Network; n != nil {
		fmt.Fprintf(&b, "network %s, chart %s\n", n.Name, n.Chart.Version)
	}
	return b.String()
}

func line(b *strings.Builder, what string, size int64, neededBy, hosts []string) {
	fmt.Fprintf(b, "%s, %s, for %s", what, ui.Size(size), strings.Join(neededBy, "; "))
	if len(hosts) > 0 {
		fmt.Fprintf(b, ", on %s only", strings.Join(hosts, ", "))
	}
	b.WriteByte('\n')
}
