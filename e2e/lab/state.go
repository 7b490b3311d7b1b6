package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

func runsDir(cache string) string      { return filepath.Join(cache, "runs") }
func runDir(cache, run string) string  { return filepath.Join(runsDir(cache), run) }
func settingsFile(cache string) string { return filepath.Join(runsDir(cache), "settings.json") }

// create makes the directory of a run, which also reserves its name. The first run on the
// machine changes the kernel's settings.
func create(cfg Config) (*Lab, error) {
	unlock, err := lock(cfg.Cache)
	if err != nil {
		return nil, err
	}
	defer unlock()
	dir := runDir(cfg.Cache, cfg.Run)
	if err := os.Mkdir(dir, 0o755); errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("create lab %[1]s: it already exists; remove it first: lab down --run %[1]s", cfg.Run)
	} else if err != nil {
		return nil, err
	}
	data, err := json.Marshal(cfg)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "run.json"), data, 0o644); err != nil {
		return nil, err
	}
	if err := applySettings(settingsFile(cfg.Cache)); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return assemble(cfg), nil
}

// removeRun removes the directory of a run. For the last run on the machine, it restores
// the kernel's settings.
func removeRun(cache, run string) error {
	if err := os.RemoveAll(runDir(cache, run)); err != nil {
		return err
	}
	others, err := filepath.Glob(filepath.Join(runsDir(cache), "*", "run.json"))
	if err != nil || len(others) > 0 {
		return err
	}
	return restoreSettings(settingsFile(cache))
}

// lock serializes the creation and removal of runs.
func lock(cache string) (unlock func(), err error) {
	if err := os.MkdirAll(runsDir(cache), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(runsDir(cache), "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return func() { f.Close() }, nil
}
