package lab

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"airgap.dev/airgap/e2e/lab/kernel"
)

// A cgroup is one server's place in every hierarchy of the outer machine. The
// server takes it for the root. Without one of its own all servers would
// share one kubepods.slice; with one, everything that runs on a server can be
// found, and ended, by where it is and not by guessing from its name.
type cgroup struct {
	path string // below the root of each hierarchy: airgap-lab/RUN/NODE
}

const cgroupRoot = kernel.CgroupRoot

// hierarchies are those of this machine: see kernel.Machine.
func hierarchies() ([]string, error) {
	m, err := kernel.This()
	if err != nil {
		return nil, err
	}
	return m.Hierarchies()
}

func (c cgroup) dirs() ([]string, error) {
	dirs, err := hierarchies()
	for i := range dirs {
		dirs[i] = filepath.Join(dirs[i], c.path)
	}
	return dirs, err
}

func (c cgroup) create() error {
	release, err := aloneAmongParents()
	if err != nil {
		return err
	}
	defer release()
	tops, err := hierarchies()
	if err != nil {
		return err
	}
	for _, top := range tops {
		dir := top
		for part := range strings.SplitSeq(c.path, "/") {
			if err := makeCgroup(dir, part); err != nil {
				return err
			}
			dir = filepath.Join(dir, part)
		}
	}
	return nil
}

// aloneAmongParents holds back every other server of this machine, whatever run
// and cache it belongs to, until release: the last one out removes the parents
// that the next one is about to make its own in.
func aloneAmongParents() (release func(), err error) {
	f, err := os.Open(cgroupRoot)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", cgroupRoot, err)
	}
	return func() { f.Close() }, nil
}

// makeCgroup makes a cgroup that takes processes: in the cpuset hierarchy a
// new one has neither processors nor memory until told so.
func makeCgroup(parent, name string) error {
	dir := filepath.Join(parent, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		value, err := os.ReadFile(filepath.Join(parent, file))
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, file), value, 0); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "cgroup.clone_children"), []byte("1"), 0)
}

// run returns argv behind a shell that moves itself into the cgroup first.
func (c cgroup) run(argv ...string) ([]string, error) {
	dirs, err := c.dirs()
	return moving(dirs, argv), err
}

func moving(dirs, argv []string) []string {
	const script = `while [ "$1" != -- ]; do echo $$ >"$1/cgroup.procs" || exit 126; shift; done; shift; exec "$@"`
	return slices.Concat([]string{"sh", "-c", script, "lab"}, dirs, []string{"--"}, argv)
}

// visitors is the cgroup of commands that come from outside. The server's
// systemd reads the processes of its own cgroups and does not know what to
// make of one from outside its PID namespace, which it sees as number 0.
const visitors = "visitors"

// visit is run for a command that joins a server which is on.
func (c cgroup) visit(argv ...string) ([]string, error) {
	dirs, err := c.dirs()
	if err != nil {
		return nil, err
	}
	for i, dir := range dirs {
		// Where systemd keeps its units nspawn goes one level down, to keep
		// itself apart from the server.
		payload := filepath.Join(dir, "payload")
		if _, err := os.Stat(payload); err == nil {
			dir = payload
		}
		if err := makeCgroup(dir, visitors); err != nil {
			return nil, err
		}
		dirs[i] = filepath.Join(dir, visitors)
	}
	return moving(dirs, argv), nil
}

// pids lists the processes of the server. A server whose cgroup is gone has
// none.
func (c cgroup) pids() ([]int, error) {
	var pids []int
	top := filepath.Join(cgroupRoot, "pids", c.path)
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil || d.Name() != "cgroup.procs" {
			return err
		}
		found, err := readPids(path)
		pids = append(pids, found...)
		return err
	})
	return pids, err
}

func readPids(file string) ([]int, error) {
	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var pids []int
	for s := bufio.NewScanner(f); s.Scan(); {
		pid, err := strconv.Atoi(s.Text())
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		pids = append(pids, pid)
	}
	return pids, nil
}

// kill ends every process of the server and returns when none is left. One that a killed
// runc has left in the freezer goes on first: no signal reaches it there.
func (c cgroup) kill(ctx context.Context) error {
	for {
		if err := c.thaw(); err != nil {
			return err
		}
		pids, err := c.pids()
		if err != nil || len(pids) == 0 {
			return err
		}
		for _, pid := range pids {
			// It may have ended meanwhile: the next round tells.
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("kill the %d processes of %s: %w", len(pids), c.path, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (c cgroup) thaw() error {
	gone := func(err error) bool { return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENODEV) }
	var freezers []string
	err := filepath.WalkDir(filepath.Join(cgroupRoot, "freezer", c.path), func(file string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "freezer.state" {
			freezers = append(freezers, file)
		}
		if gone(err) {
			return nil
		}
		return err
	})
	for _, file := range freezers {
		if failed := os.WriteFile(file, []byte("THAWED"), 0); failed != nil && !gone(failed) {
			err = errors.Join(err, failed)
		}
	}
	return err
}

// delete removes the cgroups, innermost first, and the parents nobody else
// uses.
func (c cgroup) delete() error {
	release, err := aloneAmongParents()
	if err != nil {
		return err
	}
	defer release()
	dirs, err := c.dirs()
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if err := removeTree(dir); err != nil {
			return err
		}
		for range strings.Count(c.path, "/") {
			dir = filepath.Dir(dir)
			_ = os.Remove(dir) // in use by other servers, or gone
		}
	}
	return nil
}

func removeTree(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := removeTree(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return os.Remove(dir)
}
