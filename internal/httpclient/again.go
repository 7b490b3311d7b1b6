package httpclient

import "context"

type freshKey struct{}

// Fresh marks the requests of ctx: caches on the way must ask upstream again.
func Fresh(ctx context.Context) context.Context { return context.WithValue(ctx, freshKey{}, true) }

// IsFresh reports whether Fresh marked ctx.
func IsFresh(ctx context.Context) bool { return ctx.Value(freshKey{}) != nil }

// Again calls do, and once more if it fails because of wrong content: a cache or a scanner on the way may have kept a
// damaged copy.
func Again(ctx context.Context, wrong func(error) bool, do func(context.Context) error) error {
	err := do(ctx)
	if err == nil || IsFresh(ctx) || ctx.Err() != nil || !wrong(err) {
		return err
	}
	return do(Fresh(ctx))
}
