package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"airgap.dev/airgap/internal/remote"
	"airgap.dev/airgap/internal/ui"
)

// collectLimit is the time for the support bundle of a host. Each of its parts has a limit, too.
const collectLimit = 15 * time.Minute

// collectScript writes the support bundle to stdout. The directory is removed afterwards.
const collectScript = `airgap support-bundle --file support.tar.gz --output json --progress json >result.json && cat support.tar.gz`

// Collect runs airgap support-bundle on the other hosts that have a connection. It calls keep with each archive, for one
// host at a time. An archive has at most limit bytes; it is in dir until keep returns, without a name. Err of each host is
// its failure.
func Collect(ctx context.Context, f *Fleet, dir string, limit int64, keep func(host string, size int64, archive io.Reader) error) {
	p := f.console.Progress()
	var connected []*Member
	for _, m := range f.Members {
		if m.client != nil {
			connected = append(connected, m)
		}
	}
	var mu sync.Mutex
	f.eachShown(ctx, p, "Collect from the other hosts", connected, func(ctx context.Context, m *Member) error {
		return WithScratch(dir, func(scratch *os.File) error {
			w := &limitedWriter{w: scratch, left: limit}
			err := m.collect(ctx, w)
			if w.left < 0 {
				return fmt.Errorf("read the support bundle: it has more than %s", ui.Size(limit))
			}
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			return FromStart(scratch, func(size int64) error { return keep(m.Node.Name, size, scratch) })
		})
	})
	f.console.EndProgress()
}

func (m *Member) collect(ctx context.Context, w io.Writer) error {
	return m.within(ctx, collectLimit, "airgap support-bundle", func(ctx context.Context) error {
		m.log.note("airgap support-bundle")
		run := &RemoteRun{Show: ui.Discard().Host(m.Node.Name)}
		err := m.client.RunWith(ctx, nil, remote.Command{Args: []string{"sh", "-c", collectScript}, Stdout: w, Stderr: io.MultiWriter(run, m.log)})
		if err != nil {
			m.log.note("%v", err)
		}
		exit, is := errors.AsType[*remote.ExitError](err)
		if !is {
			return err
		}
		err = run.failure(exit.Code)
		if exit.Code == exitNotFound {
			return errNoProgram
		}
		return err
	})
}

// limitedWriter returns an error for more bytes than it may take.
type limitedWriter struct {
	w    io.Writer
	left int64
}

func (l *limitedWriter) Write(p []byte) (int, error) {
	if l.left -= int64(len(p)); l.left < 0 {
		return 0, io.ErrShortWrite
	}
	return l.w.Write(p)
}

// WithScratch calls do with a new file in dir that has no name, so that nothing is left of it.
func WithScratch(dir string, do func(*os.File) error) error {
	scratch, err := os.CreateTemp(dir, ".airgap-support-")
	if err != nil {
		return fmt.Errorf("keep a support bundle: %w", err)
	}
	defer scratch.Close()
	if err := os.Remove(scratch.Name()); err != nil {
		return fmt.Errorf("keep a support bundle: %w", err)
	}
	return do(scratch)
}

// FromStart calls do for a written file at its beginning, with its size.
func FromStart(file *os.File, do func(size int64) error) error {
	size, err := file.Seek(0, io.SeekCurrent)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("keep a support bundle: %w", err)
	}
	return do(size)
}
