// Package await waits for other components: it tries until a condition is met or the time is over,
// and then returns the last reason.
package await

import (
	"context"
	"time"
)

// Interval is the time between two checks of another component. Tests of long
// sequences set a shorter one.
func Interval(ctx context.Context) time.Duration {
	if often, is := ctx.Value(Oftener{}).(time.Duration); is {
		return often
	}
	return time.Second
}

// Oftener is the key of a context's value, a time.Duration, that Beat is instead of a second.
type Oftener struct{}

// Until tries until it holds; at the end it tells why it did not.
func Until(ctx context.Context, atMost time.Duration, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	last := error(nil)
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil {
			last = err // the one before the end says more than "deadline exceeded"
		}
		select {
		case <-ctx.Done():
			return last
		case <-time.After(Interval(ctx) / 2):
		}
	}
}
