package bundle

// WithSpace pretends that the file system has this much room.
func (o Options) WithSpace(free, maxFile int64) Options {
	o.free = func(string) (space, error) { return space{free, maxFile}, nil }
	return o
}
