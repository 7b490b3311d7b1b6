package bundle

// packages is the dnf repository of a bundle.
type packages struct {
	small map[string][]byte // repodata and key, by path
}
