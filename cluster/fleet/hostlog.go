package fleet

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/ui"
)

// log is a file on this host with the output of another host.
type log struct {
	mu   sync.Mutex
	file *os.File
	text *ui.Escaper // writes to file; the log may be displayed in a terminal
}

// maxLog is the size in bytes from which on a log is renamed to NAME.log.1, which replaces an older one.
const maxLog = 10 << 20

// openLog opens /var/log/airgap/hosts/NAME.log to append to it. Only root can read it.
func openLog(name string) (*log, error) {
	path := filepath.Join(site.HostLogDir, name+".log")
	if err := os.MkdirAll(site.HostLogDir, 0o700); err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", name, err)
	}
	f, err := openRotated(path)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", name, err)
	}
	return newLog(f), nil
}

// openRotated opens a file to append to it, or a new one if the file is large.
func openRotated(path string) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && info.Size() >= maxLog {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, err
		}
	}
	return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}

func newLog(f *os.File) *log { return &log{file: f, text: ui.NewEscaper(f)} }

// Write implements io.Writer. Stdout and stderr are written concurrently. It ignores errors, because a
// missing line in the log must not stop the command.
func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.text.Write(p)
	return len(p), nil
}

// note writes a line with the time, marked as a note of airgap on this host.
func (l *log) note(format string, args ...any) {
	fmt.Fprintf(l, "=== %s %s\n", time.Now().UTC().Format(time.RFC3339), fmt.Sprintf(format, args...))
}

// Close closes the file.
func (l *log) Close() error { return errors.Join(l.text.Flush(), l.file.Close()) }
