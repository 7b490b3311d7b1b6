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

// log is a file of this host with everything that another one said.
type log struct {
	mu   sync.Mutex
	file *os.File
	text *ui.Escaper // to file: people read it at terminals
}

// openLog appends to /var/log/airgap/hosts/NAME.log; nobody but root reads
// it.
func openLog(name string) (*log, error) {
	if err := os.MkdirAll(site.HostLogDir, 0o700); err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", name, err)
	}
	f, err := os.OpenFile(filepath.Join(site.HostLogDir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", name, err)
	}
	return newLog(f), nil
}

func newLog(f *os.File) *log { return &log{file: f, text: ui.NewEscaper(f)} }

// Write implements io.Writer. Stdout and stderr come at the same time. The log is for
// people: that something cannot be written stops nothing.
func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.text.Write(p)
	return len(p), nil
}

// note writes a line of our own.
func (l *log) note(format string, args ...any) {
	fmt.Fprintf(l, "=== %s %s\n", time.Now().UTC().Format(time.RFC3339), fmt.Sprintf(format, args...))
}

// Close closes the file.
func (l *log) Close() error { return errors.Join(l.text.Flush(), l.file.Close()) }
