package bundle

// WithSpace simulates a file system with this free space.
func (o Options) WithSpace(free, maxFile int64) Options {
	o.free = func(string) (space, error) { return space{free, maxFile}, nil }
	return o
}
