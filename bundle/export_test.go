package bundle

import "time"

// Hasten makes a client give up soon, for tests of what it gives up on.
func (c *Client) Hasten() {
	c.patience = patience{attempts: 3, pause: time.Millisecond, stall: 500 * time.Millisecond}
}

// WithSpace pretends that the file system has this much room.
func (o Options) WithSpace(free, maxFile int64) Options {
	o.free = func(string) (space, error) { return space{free, maxFile}, nil }
	return o
}
