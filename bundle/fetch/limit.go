package fetch

import (
	"context"
	"fmt"
	"io"

	"golang.org/x/time/rate"

	"airgap.dev/airgap/internal/ui"
)

// MinRate is the smallest limit, in bytes per second. With a smaller one, connections would look
// stalled.
const MinRate = 16 << 10

// limitedBuffer is the receive buffer of a connection with a limit, in bytes.
const limitedBuffer = 128 << 10

// Limit limits the sum of all downloads of the client to bytes per second; 0 is no limit. It must be
// called before the first request.
func (c *Client) Limit(perSecond int64) error {
	switch {
	case perSecond == 0:
		c.limit = nil
	case perSecond < MinRate:
		return fmt.Errorf("limit downloads to %s per second: the smallest limit is %s per second", ui.Size(perSecond), ui.Size(MinRate))
	default:
		c.limit = rate.NewLimiter(rate.Limit(perSecond), limitedRead(perSecond))
	}
	return nil
}

// limitedRead is the size of one read: a tenth of a second, but never so small that reading is all work.
func limitedRead(perSecond int64) int { return int(min(max(perSecond/10, 2<<10), 1<<20)) }

type limitedBody struct {
	io.ReadCloser

	ctx   context.Context
	limit *rate.Limiter
}

// Read waits after the bytes came, so that the connections share the limit by what they really receive.
func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(len(p), b.limit.Burst())])
	if n > 0 {
		if waited := b.limit.WaitN(b.ctx, n); waited != nil && err == nil {
			err = context.Cause(b.ctx)
		}
	}
	return n, err
}
