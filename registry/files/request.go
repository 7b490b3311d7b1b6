package files

import (
	"context"
	"errors"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// ErrFull is the error of a caller that writes nothing more, although the kernel would.
var ErrFull = errors.New("the registry's disk is full")

// Request is the state of one request. It is in the request's context, because the engine reports a full disk like any
// other error, and does not close a file if its disk is full.
type Request struct {
	mu      sync.Mutex
	full    bool
	paths   []string
	writers []*fileWriter
}

type requestKey struct{}

// WithRequest returns a context for one request. The caller closes the Request after the engine has answered.
func WithRequest(ctx context.Context) (context.Context, *Request) {
	r := new(Request)
	return context.WithValue(ctx, requestKey{}, r), r
}

// Full reports whether the disk or a quota was full.
func (r *Request) Full() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.full
}

// Paths returns the files that the request wrote or could not create, also those that are moved or removed.
func (r *Request) Paths() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.paths)
}

// Close closes the files that the engine left open.
func (r *Request) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, w := range r.writers {
		errs = append(errs, w.closeOnce())
	}
	return errors.Join(errs...)
}

func (r *Request) change(f func()) {
	if r != nil { // else the registry writes for itself
		r.mu.Lock()
		defer r.mu.Unlock()
		f()
	}
}

func (r *Request) writes(path string)   { r.change(func() { r.paths = append(r.paths, path) }) }
func (r *Request) opened(w *fileWriter) { r.change(func() { r.writers = append(r.writers, w) }) }

func requestOf(ctx context.Context) *Request {
	if ctx == nil { // as in the engine's own tests
		return nil
	}
	r, _ := ctx.Value(requestKey{}).(*Request)
	return r
}

// NoteFull returns err. If the disk or a quota is full, or err is ErrFull, the Request of ctx is Full.
func NoteFull(ctx context.Context, err error) error {
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, ErrFull) {
		r := requestOf(ctx)
		r.change(func() { r.full = true })
	}
	return err
}
