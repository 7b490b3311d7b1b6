package httpclient

import "context"

type purposeKey struct{}

// For records the purpose of the requests in ctx, for the list of asked hosts: "image quay.io/a/b:1".
// An outer purpose stays: it is the one that the user knows.
func For(ctx context.Context, purpose string) context.Context {
	if Purpose(ctx) != "" {
		return ctx
	}
	return context.WithValue(ctx, purposeKey{}, purpose)
}

// Purpose returns the purpose of the requests in ctx; "" if unknown.
func Purpose(ctx context.Context) string {
	purpose, _ := ctx.Value(purposeKey{}).(string)
	return purpose
}

type checkedKey struct{}

// Checked marks ctx for contents that the caller compares with a digest or a signature. Only those may
// come over plain HTTP, where others can change them on the way.
func Checked(ctx context.Context) context.Context { return context.WithValue(ctx, checkedKey{}, true) }

// IsChecked reports whether Checked has marked ctx.
func IsChecked(ctx context.Context) bool { return ctx.Value(checkedKey{}) != nil }
