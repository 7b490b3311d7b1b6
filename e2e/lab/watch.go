package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"airgap.dev/airgap/e2e/execs"
)

// A Watch sees what is started on the containers of a lab, from outside. What
// runs inside an emulated machine it cannot see: that has a kernel of its own.
type Watch struct {
	programs *execs.Watcher
	keeper   string // a cgroup, so that those above it outlive a power cut
}

// Watch calls see for each program that is started on a container, with the
// server's name, until the Watch is closed. It may be called by any goroutine
// but by one at a time.
func (l *Lab) Watch(see func(server string, e execs.Exec)) (*Watch, error) {
	top, err := unifiedHierarchy()
	if err != nil {
		return nil, fmt.Errorf("watch lab %s: %w", l.run, err)
	}
	run := filepath.Join("airgap-lab", l.run)
	w := &Watch{keeper: filepath.Join(top, run, "watch")}
	if err := os.MkdirAll(w.keeper, 0o755); err != nil {
		return nil, fmt.Errorf("watch lab %s: %w", l.run, err)
	}
	w.programs, err = execs.Watch(filepath.Join(top, run), func(e execs.Exec) { see(e.Child, e) })
	if err != nil {
		return nil, errors.Join(err, w.forget())
	}
	return w, nil
}

// Close ends it, after see was told of everything that had been started.
func (w *Watch) Close() (execs.Count, error) {
	count, err := w.programs.Close()
	return count, errors.Join(err, w.forget())
}

// forget removes the cgroup, and those above it that servers have left.
func (w *Watch) forget() error {
	err := remove(w.keeper)
	for dir, n := filepath.Dir(w.keeper), 0; n < 2; dir, n = filepath.Dir(dir), n+1 {
		_ = os.Remove(dir) // in use by servers
	}
	return err
}

// unifiedHierarchy is where cgroup v2 is mounted.
func unifiedHierarchy() (string, error) {
	all, err := hierarchies()
	if err != nil {
		return "", err
	}
	for _, dir := range all {
		var fs unix.Statfs_t
		if err := unix.Statfs(dir, &fs); err == nil && fs.Type == unix.CGROUP2_SUPER_MAGIC {
			return dir, nil
		}
	}
	return "", errors.New("find cgroup v2: it is not mounted below " + cgroupRoot)
}
