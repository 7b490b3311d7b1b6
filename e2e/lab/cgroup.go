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

// A cgroup is the path of one server in every hierarchy of the outer machine, or in the only one of cgroup v2. The
// server sees it as the root. With a shared cgroup, all servers would have one
// kubepods.slice. With a separate cgroup, the lab finds and kills all processes of a
// server by their cgroup, not by their names.
type cgroup struct {
	path string // below the root of each hierarchy: airgap-lab/RUN/NODE
}

const cgroupRoot = kernel.CgroupRoot

// hierarchies returns the cgroup hierarchies of this machine: see kernel.Machine.
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
	release, err := lockParents()
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
			if err := errors.Join(passOn(dir), makeCgroup(dir, part)); err != nil {
				return err
			}
			dir = filepath.Join(dir, part)
		}
	}
	return nil
}

// lockParents blocks create and delete of all other servers on this machine, of any
// run and cache, until release. Otherwise the last server of a run could remove the
// parents in which another server is about to create its cgroup.
func lockParents() (release func(), err error) {
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

// passOn gives the controllers of a cgroup to the cgroups below it. With cgroup v1, each controller has its own
// hierarchy, and next to them v2 has no controller that servers need.
func passOn(dir string) error {
	if !Unified() {
		return nil
	}
	offered, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return err
	}
	var on []string
	for name := range strings.FieldsSeq(string(offered)) {
		if slices.Contains([]string{"cpu", "cpuset", "io", "memory", "hugetlb", "pids"}, name) {
			on = append(on, "+"+name)
		}
	}
	return os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte(strings.Join(on, " ")), 0)
}

// Unified reports whether this machine, and so each of the lab's containers, has only cgroup v2.
func Unified() bool { return isCgroup2(cgroupRoot) }

func isCgroup2(dir string) bool {
	var s unix.Statfs_t
	return unix.Statfs(dir, &s) == nil && s.Type == unix.CGROUP2_SUPER_MAGIC
}

// makeCgroup makes a cgroup that accepts processes: in the cpuset hierarchy of v1, a new
// cgroup has no processors and no memory until they are written to it.
func makeCgroup(parent, name string) error {
	dir := filepath.Join(parent, name)
	if err := os.MkdirAll(dir, 0o755); err != nil || isCgroup2(dir) {
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

// run returns argv with a shell in front that first moves itself into the cgroup.
func (c cgroup) run(argv ...string) ([]string, error) {
	dirs, err := c.dirs()
	return moveInto(dirs, argv), err
}

func moveInto(dirs, argv []string) []string {
	const script = `while [ "$1" != -- ]; do echo $$ >"$1/cgroup.procs" || exit 126; shift; done; shift; exec "$@"`
	return slices.Concat([]string{"sh", "-c", script, "lab"}, dirs, []string{"--"}, argv)
}

// visitors is the cgroup of commands that come from outside. The server's systemd
// reads the processes of its own cgroups, and cannot handle a process from outside its
// PID namespace, which it sees as PID 0.
const visitors = "visitors"

// visit does the same as run, for a command that enters a running server.
func (c cgroup) visit(argv ...string) ([]string, error) {
	dirs, err := c.dirs()
	if err != nil {
		return nil, err
	}
	for i, dir := range dirs {
		// In the hierarchy where systemd has its units, nspawn puts the server one
		// level down, to separate it from its own process.
		payload := filepath.Join(dir, "payload")
		if _, err := os.Stat(payload); err == nil {
			dir = payload
		}
		if err := makeCgroup(dir, visitors); err != nil {
			return nil, err
		}
		dirs[i] = filepath.Join(dir, visitors)
	}
	return moveInto(dirs, argv), nil
}

// pids lists the processes of the server. It is empty after the cgroup is removed.
func (c cgroup) pids() ([]int, error) {
	var pids []int
	top := filepath.Join(cgroupRoot, c.path)
	if !Unified() {
		top = filepath.Join(cgroupRoot, "pids", c.path)
	}
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

// kill ends every process of the server and returns when none is left. It first thaws
// processes that a killed runc has left in the freezer of v1: no signal reaches them there.
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
			// It may have ended meanwhile: the next round checks that.
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
	if Unified() {
		return nil
	}
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

// delete removes the cgroups, innermost first, and the parents that no other server uses.
func (c cgroup) delete() error {
	release, err := lockParents()
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
			_ = os.Remove(dir) // fails if other servers use it, or if it is removed
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
