package files

import (
	"context"
	"errors"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// ErrFull is the error of a caller that writes nothing more, although the kernel would.
var ErrFull = errors.New("the registry's disk is full")

// Full reports whether a request has met a full disk. It is in the context of the request, because the
// engine reports such an error like any other.
type Full struct{ met atomic.Bool }

type fullKey struct{}

// WithFull returns a context in which NoteFull sets the Full.
func WithFull(ctx context.Context) (context.Context, *Full) {
	f := new(Full)
	return context.WithValue(ctx, fullKey{}, f), f
}

// Met reports whether the disk or a quota was full.
func (f *Full) Met() bool { return f.met.Load() }

// NoteFull returns err. If the disk or a quota is full, or err is ErrFull, it sets the Full of ctx.
func NoteFull(ctx context.Context, err error) error {
	if !errors.Is(err, unix.ENOSPC) && !errors.Is(err, unix.EDQUOT) && !errors.Is(err, ErrFull) {
		return err
	}
	if full, is := ctx.Value(fullKey{}).(*Full); is {
		full.met.Store(true)
	}
	return err
}
