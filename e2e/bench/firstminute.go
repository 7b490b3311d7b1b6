package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"airgap.dev/airgap/e2e/lab/room"
)

// firstMinute runs the demo as a new user does, with empty caches of Go and of the lab. The Debian packages that the lab
// needs are installed. It prints where the time goes.
func (b *bench) firstMinute(ctx context.Context, w *figures) error {
	cache, err := room.CacheDir()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(cache), "firstminute-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	cmd := exec.CommandContext(ctx, "make", "-C", "..", "demo")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // removes the servers
	cmd.WaitDelay = time.Minute
	cmd.Env = append(withoutMake(os.Environ()),
		"AIRGAP_LAB_CACHE="+filepath.Join(dir, "lab"), "GOCACHE="+filepath.Join(dir, "build"), "GOMODCACHE="+filepath.Join(dir, "modules"))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	t := timesOf(began, io.TeeReader(out, os.Stderr), time.Now)
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("make demo: %w", err)
	}
	t.print(w, time.Since(began))
	return nil
}

// withoutMake leaves out the variables by which make gives its flags to another make.
func withoutMake(environ []string) []string {
	return slices.DeleteFunc(environ, func(v string) bool { return strings.HasPrefix(v, "MAKE") || strings.HasPrefix(v, "MFLAGS=") })
}

// demoTimes are the times of the parts of `make demo`, since its start.
type demoTimes struct {
	downloads time.Duration // of modules for the cluster's programs; two programs at the same time
	built     time.Duration // airgap and the lab
	compiled  time.Duration // the cluster's programs
	prepared  time.Duration // images, packages, disks of the servers
}

var (
	compileBegins = regexp.MustCompile(`^compile \d+ projects: `)
	modulesDone   = regexp.MustCompile(`^programs \S+: modules after ([\d.]+) s$`)
	programDone   = regexp.MustCompile(`^programs \S+: [\d.]+ s$`)
	demoBegins    = regexp.MustCompile(`── 1\. `)
)

// timesOf reads the output of `make demo`.
func timesOf(began time.Time, out io.Reader, now func() time.Time) demoTimes {
	var t demoTimes
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		line, since := lines.Text(), now().Sub(began)
		switch modules := modulesDone.FindStringSubmatch(line); {
		case modules != nil:
			seconds, _ := strconv.ParseFloat(modules[1], 64) // digits, by the expression
			t.downloads += time.Duration(seconds * float64(time.Second))
		case compileBegins.MatchString(line):
			t.built = since
		case programDone.MatchString(line):
			t.compiled = since
		case demoBegins.MatchString(line):
			t.prepared = since
		}
	}
	_, _ = io.Copy(io.Discard, out) // after a line that is too long
	return t
}

func (t demoTimes) print(w *figures, all time.Duration) {
	for _, p := range []struct {
		name string
		took time.Duration
	}{
		{"build-airgap", t.built}, {"compile-cluster", t.compiled - t.built}, {"modules-of-cluster", t.downloads},
		{"images-packages-disks", t.prepared - t.compiled}, {"demo", all - t.prepared},
	} {
		fmt.Fprintf(w.out, "bench firstminute-%s %.0f s of %.0f s\n", p.name, p.took.Seconds(), all.Seconds())
	}
	seconds("firstminute-cold", all, "limit", 12*time.Minute, 1.0).print(w)
}
