package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"airgap.dev/airgap/e2e/execs"
)

// A Watch observes, from outside, the programs that start on the containers of a lab. It
// cannot see programs inside an emulated machine, which has a separate kernel.
type Watch struct {
	programs *execs.Watcher
	keeper   string // a cgroup that keeps its parents in existence during a power cut
}

// Watch calls see for each program that starts on a container, with the server's name, until
// the Watch is closed. The calls come from any goroutine, but one at a time.
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
		return nil, errors.Join(err, w.remove())
	}
	return w, nil
}

// Close ends the Watch after it has called see for all programs that have started.
func (w *Watch) Close() (execs.Count, error) {
	count, err := w.programs.Close()
	return count, errors.Join(err, w.remove())
}

// remove removes the cgroup, and its parents if no server uses them.
func (w *Watch) remove() error {
	err := remove(w.keeper)
	for dir, n := filepath.Dir(w.keeper), 0; n < 2; dir, n = filepath.Dir(dir), n+1 {
		_ = os.Remove(dir) // fails if servers use it
	}
	return err
}

// unifiedHierarchy returns the mount point of cgroup v2.
func unifiedHierarchy() (string, error) {
	all, err := hierarchies()
	if err != nil {
		return "", err
	}
	if i := slices.IndexFunc(all, isCgroup2); i >= 0 {
		return all[i], nil
	}
	return "", errors.New("find cgroup v2: it is not mounted at or below " + cgroupRoot)
}
