package bundle

// Mirrors returns the other addresses of a package of the lock, by its path in the bundle.
func (p *Plan) Mirrors(path string) []string { return p.rpms.byPath[path].Mirrors }

// IsFetched reports whether Write fetches the content at path. The plan has the others already.
func (p *Plan) IsFetched(path string) bool { return p.origins[path] != nil }
