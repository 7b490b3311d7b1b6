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

// measured is one run of a command as the kernel accounts it.
type measured struct {
	took time.Duration
	peak int64 // resident bytes
	live int64 // bytes that the program's own collector found in use at most; 0 where it does not say
	// work is the processors' time, without what collections of garbage took where the program says it.
	work time.Duration
	out  []byte
}

// traceCollections has a Go program say after each collection of garbage how large
// its heap was before and how much of it is in use (package runtime: GODEBUG).
const traceCollections = "GODEBUG=gctrace=1"

var collection = regexp.MustCompile(`(?m)^gc \d+ @.* ms clock, ([\d.+/]+) ms cpu, \d+->\d+->(\d+) MB`)

// collections are how many bytes were in use at most, and what all of them took.
func collections(said []byte) (live int64, took time.Duration) {
	for _, found := range collection.FindAllSubmatch(said, -1) {
		mb, _ := strconv.ParseInt(string(found[2]), 10, 64) // digits, by the expression
		live = max(live, mb<<20)
		for part := range strings.FieldsFuncSeq(string(found[1]), func(r rune) bool { return r == '+' || r == '/' }) {
			ms, _ := strconv.ParseFloat(part, 64)
			took += time.Duration(ms * float64(time.Millisecond))
		}
	}
	return live, took
}

// fill is the filling's time in the result of `airgap bundle --output json`.
func (m measured) fill() time.Duration {
	var result struct{ Report struct{ Fill time.Duration } }
	_ = json.Unmarshal(m.out, &result) // a zero shows in the figure
	return result.Report.Fill
}

// measure runs a command to its end. It begins when the disk has done all that
// the run before left it to do: a tool that does not wait for the disk would
// slow down the one that comes next.
//
// GNU time is between the two: to the peak of a child that begins in the memory of its
// parent (vfork), the kernel counts what that parent ever had (exec_mmap in fs/exec.c).
func measure(ctx context.Context, env []string, name string, args ...string) (measured, error) {
	usage, err := os.CreateTemp("", "airgap-bench-")
	if err != nil {
		return measured{}, err
	}
	defer os.Remove(usage.Name())
	defer usage.Close()
	syscall.Sync()
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, "time", append([]string{"--quiet", "--format=%M %U %S", "--output=" + usage.Name(), name}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = &out, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // time does not take its child along
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return measured{}, fmt.Errorf("%s %v: %w: %s", name, args, err, said.String())
	}
	m := measured{took: time.Since(began), out: out.Bytes()}
	var kib int64
	var user, system float64
	if _, err := fmt.Fscan(usage, &kib, &user, &system); err != nil {
		return measured{}, fmt.Errorf("read what GNU time says of %s: %w", name, err)
	}
	live, collecting := collections(said.Bytes())
	m.peak, m.live, m.work = kib<<10, live, time.Duration((user+system)*float64(time.Second))-collecting
	return m, nil
}

// rounds runs all in turn, runs times.
func rounds(all ...func() (measured, error)) ([]measured, error) { return roundsOf(runs, all...) }

// roundsOf runs all in turn after one round that does not count, and returns the median of each:
// a drift of the machine's speed affects all.
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

// evict drops a file from the page cache. A program's resident bytes count the pages of its file
// that the kernel maps around each fault, and it maps more of them when an earlier part of the
// bench read the whole file.
func evict(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil { // dirty pages stay
		return err
	}
	return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
}
