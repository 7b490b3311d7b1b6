// Package stage skips the parts of a build that are current. Every result of the lab's
// upstream is a stage with a key, a hash of all its inputs. A log next to the results has the
// key of each finished stage. A stage runs again only if its key changes.
package stage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Log stores the keys of finished stages in a directory, one small file each.
type Log struct {
	dir string

	mu       sync.Mutex // one line at a time
	progress io.Writer
}

// Open returns the log in dir, and creates dir if it is missing. The log writes a line to
// progress when a stage starts, and one with its duration when it ends.
func Open(dir string, progress io.Writer) (*Log, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return &Log{dir: dir, progress: progress}, nil
}

// Lock waits until no other process builds into the same directory.
func (l *Log) Lock(ctx context.Context) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(l.dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// Printf writes a line to progress.
func (l *Log) Printf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.progress, format, args...)
}

// Do runs the stage unless it was finished with the same key. It reports whether the stage
// ran. Stages with different names may run at the same time.
func (l *Log) Do(name, key string, run func() error) (bool, error) {
	current, err := l.Current(name, key)
	if current || err != nil {
		return false, err
	}
	start := time.Now()
	l.Printf("%s ...\n", name)
	if err := run(); err != nil {
		return true, fmt.Errorf("build %s: %w", name, err)
	}
	l.Printf("%s: %.1f s\n", name, time.Since(start).Seconds())
	return true, os.WriteFile(l.path(name), []byte(key), 0o644)
}

// Current reports whether the stage was finished with the same key.
func (l *Log) Current(name, key string) (bool, error) {
	done, err := os.ReadFile(l.path(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return string(done) == key, nil
}

func (l *Log) path(name string) string {
	return filepath.Join(l.dir, strings.NewReplacer("/", "_", ":", "_").Replace(name))
}

// Key hashes the inputs of a result in their JSON form.
func Key(parts ...any) (string, error) {
	data, err := json.Marshal(parts)
	if err != nil {
		return "", fmt.Errorf("hash the inputs: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// KeyOfTree hashes the names and contents of the files below dir.
func KeyOfTree(dir string) (string, error) {
	h := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		fmt.Fprintf(h, "%q %d\n%s", name, len(data), data)
		return err
	})
	return hex.EncodeToString(h.Sum(nil)), err
}
