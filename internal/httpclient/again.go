package httpclient

import (
	"context"
	"fmt"
)

type freshKey struct{}

// Fresh marks the requests of ctx: caches on the way must ask upstream again.
func Fresh(ctx context.Context) context.Context { return context.WithValue(ctx, freshKey{}, true) }

// IsFresh reports whether Fresh marked ctx.
func IsFresh(ctx context.Context) bool { return ctx.Value(freshKey{}) != nil }

// Again calls do, and once more if it fails because of wrong content: a cache or a scanner on the way may have kept a
// damaged copy. The error says who can be to blame if the content is wrong twice.
func Again(ctx context.Context, wrong func(error) bool, do func(context.Context) error) error {
	err := do(ctx)
	if err == nil || IsFresh(ctx) || ctx.Err() != nil || !wrong(err) {
		return err
	}
	if err = do(Fresh(ctx)); err != nil && wrong(err) {
		err = fmt.Errorf("%w, in two downloads: a proxy or a mirror on the way sends other bytes, or upstream replaced the file", err)
	}
	return err
}
