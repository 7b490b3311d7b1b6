package hostcheck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/ui"
)

// holder is the airgap process that has the lock of this host.
type holder struct {
	pid  int      // 0: unknown
	args []string // without the program
}

// String is "airgap install (process 1234)". Arguments may be long, and ps shows them.
func (h holder) String() string { return fmt.Sprintf("%s (process %d)", h.command(), h.pid) }

// command is the program with the words of its command: "airgap upgrade node".
func (h holder) command() string {
	words := []string{"airgap"}
	for _, arg := range h.args {
		if strings.ContainsFunc(arg, func(r rune) bool { return r < 'a' || r > 'z' }) {
			break
		}
		words = append(words, arg)
	}
	return strings.Join(words, " ")
}

// holderOf finds the process with the lock. /proc/locks has its number, unless it is in a container.
func holderOf(file string) holder {
	info, err := os.Stat(file) //nolint:gosec // the path of the lock is fixed
	if err != nil {
		return holder{}
	}
	stat, is := info.Sys().(*syscall.Stat_t)
	locks, err := os.ReadFile("/proc/locks")
	if err != nil || !is {
		return holder{}
	}
	for line := range strings.Lines(string(locks)) {
		// 1: FLOCK  ADVISORY  WRITE 1234 fd:00:5678 0 EOF; "1: ->" waits for it
		fields := strings.Fields(line)
		if len(fields) < 6 || fields[1] != "FLOCK" || !strings.HasSuffix(fields[5], ":"+strconv.FormatUint(stat.Ino, 10)) {
			continue
		}
		pid, err := strconv.Atoi(fields[4])
		if err != nil || pid <= 0 {
			continue
		}
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		args := strings.Split(string(bytes.TrimRight(line, "\x00")), "\x00")
		if err == nil && filepath.Base(args[0]) == "airgap" { // another file system may have the same inode number
			return holder{pid, args[1:]}
		}
	}
	return holder{}
}

// Busy names the airgap command that changes this host, or is "".
func Busy() string {
	if !errors.Is(HostAtRest(), ErrBusy) {
		return ""
	}
	if h := holderOf(site.LockFile); h.pid != 0 {
		return h.String()
	}
	return "another airgap command"
}

const (
	lockPatience = time.Hour
	lockAgain    = time.Second
)

// AwaitLock is LockHost for a command that is run again: if an earlier run of it still works, it waits for its end, and
// waited is true.
func AwaitLock(ctx context.Context, command string, p ui.Progress) (release func(), waited bool, err error) {
	return awaitLockAt(ctx, site.LockFile, command, lockPatience, p)
}

func awaitLockAt(ctx context.Context, file, command string, patience time.Duration, p ui.Progress) (release func(), waits bool, err error) {
	until := time.Now().Add(patience)
	defer func() {
		if waits {
			p.Now("")
		}
	}()
	for {
		release, err := lockAt(file)
		if !errors.Is(err, ErrBusy) {
			return release, waits, err
		}
		h := holderOf(file)
		switch {
		case h.pid != 0 && h.command() != "airgap "+command, h.pid == 0 && !waits:
			if release, err := lockAt(file); err == nil { // its process has just ended
				return release, true, nil
			}
			return nil, waits, err
		case time.Now().After(until):
			return nil, waits, fmt.Errorf("wait %s for the earlier run: %w", patience, err)
		case !waits:
			waits = true
			p.Say("%s still works on this host; waiting for its end until %s", h, until.Format("15:04:05"))
			p.Now("Wait for " + h.String())
		}
		select {
		case <-ctx.Done():
			return nil, waits, ctx.Err()
		case <-time.After(lockAgain):
		}
	}
}
