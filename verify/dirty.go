package verify

import "sync"

// dirty is the set of rules to evaluate again. Marking is cheap and never blocks. A rule is in
// the set once, however many events arrive.
type dirty struct {
	// ring has a value while the set is not empty.
	ring chan struct{}

	mu    sync.Mutex
	rules map[string]bool
}

func newDirty() *dirty {
	return &dirty{ring: make(chan struct{}, 1), rules: map[string]bool{}}
}

func (d *dirty) mark(ids ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range ids {
		d.rules[id] = true
	}
	select {
	case d.ring <- struct{}{}:
	default:
	}
}

// take empties the set.
func (d *dirty) take() map[string]bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	taken := d.rules
	d.rules = map[string]bool{}
	return taken
}
