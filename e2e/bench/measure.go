package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// measured has the resources that one run of a command used.
type measured struct {
	took time.Duration
	peak int64 // resident bytes
	live int64 // largest heap in use after a garbage collection, bytes; 0 if the program does not report it
	// work is the CPU time, without that of garbage collections if the program reports it.
	work time.Duration
	out  []byte
}

// traceCollections makes a Go program report, after each garbage collection, how large
// its heap was before and how much of it is in use (package runtime: GODEBUG).
const traceCollections = "GODEBUG=gctrace=1"

var collection = regexp.MustCompile(`(?m)^gc \d+ @.* ms clock, ([\d.+/]+) ms cpu, \d+->\d+->(\d+) MB`)

// collections returns the largest heap in use, in bytes, and the CPU time of all garbage collections.
func collections(trace []byte) (live int64, took time.Duration) {
	for _, found := range collection.FindAllSubmatch(trace, -1) {
		mb, _ := strconv.ParseInt(string(found[2]), 10, 64) // digits, by the expression
		live = max(live, mb<<20)
		for part := range strings.FieldsFuncSeq(string(found[1]), func(r rune) bool { return r == '+' || r == '/' }) {
			ms, _ := strconv.ParseFloat(part, 64)
			took += time.Duration(ms * float64(time.Millisecond))
		}
	}
	return live, took
}

// fill returns the time of the fill phase from the result of `airgap bundle --output json`.
func (m measured) fill() time.Duration {
	var result struct{ Report struct{ Fill time.Duration } }
	_ = json.Unmarshal(m.out, &result) // a zero shows in the figure
	return result.Report.Fill
}

// measure runs a command and waits until it ends. It flushes the disk first: a tool that
// does not wait for its writes would slow down the next one.
//
// GNU time is the parent of the command. For a child that starts in the memory of its parent
// (vfork), the kernel includes the parent's peak in the child's (exec_mmap in fs/exec.c).
func measure(ctx context.Context, env []string, name string, args ...string) (measured, error) {
	usage, err := os.CreateTemp("", "airgap-bench-")
	if err != nil {
		return measured{}, err
	}
	defer os.Remove(usage.Name())
	defer usage.Close()
	syscall.Sync()
	var out, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "time", append([]string{"--quiet", "--format=%M %U %S", "--output=" + usage.Name(), name}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = &out, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // a signal to GNU time would not reach its child
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return measured{}, fmt.Errorf("%s %v: %w: %s", name, args, err, stderr.String())
	}
	m := measured{took: time.Since(began), out: out.Bytes()}
	var kib int64
	var user, system float64
	if _, err := fmt.Fscan(usage, &kib, &user, &system); err != nil {
		return measured{}, fmt.Errorf("read the output of GNU time about %s: %w", name, err)
	}
	live, collecting := collections(stderr.Bytes())
	m.peak, m.live, m.work = kib<<10, live, time.Duration((user+system)*float64(time.Second))-collecting
	return m, nil
}

// rounds calls roundsOf with the default number of rounds.
func rounds(all ...func() (measured, error)) ([]measured, error) { return roundsOf(runs, all...) }

// roundsOf runs all functions in turn, times times after a warm-up round, and returns the
// median of each. So a change of the machine's speed affects all of them.
func roundsOf(times int, all ...func() (measured, error)) ([]measured, error) {
	counted := make([][]measured, len(all))
	for round := range times + 1 {
		for i, run := range all {
			m, err := run()
			if err != nil {
				return nil, err
			}
			if round > 0 {
				counted[i] = append(counted[i], m)
			}
		}
	}
	medians := make([]measured, len(all))
	for i := range all {
		medians[i] = median(counted[i])
	}
	return medians, nil
}

func median(counted []measured) measured {
	slices.SortFunc(counted, func(a, b measured) int { return int(a.took - b.took) })
	m := counted[len(counted)/2]
	for _, r := range counted {
		m.peak, m.live = max(m.peak, r.peak), max(m.live, r.live)
	}
	return m
}

// evict drops a file from the page cache. The resident memory of a program includes the pages of
// its file that the kernel maps around each fault. The kernel maps more of them after an earlier
// part of the bench read the whole file.
func evict(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil { // the kernel does not drop dirty pages
		return err
	}
	return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
}
