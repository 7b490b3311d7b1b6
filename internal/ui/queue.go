package ui

import "slices"

// Queue shows that work on other hosts is still to come, also on those that have ended other work. On a terminal they
// wait, elsewhere it shows nothing.
func Queue(p Progress, names []string) {
	if a, is := p.(*Asking); is {
		p = a.now()
	}
	if b, is := p.(*bars); is {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.lines().queue(names)
	}
}

// queue leaves lines of failed hosts, and of those at work, as they are.
func (h *barHosts) queue(names []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range names {
		name = escapedLine(name)
		i := slices.IndexFunc(h.all, func(one *barHost) bool { return one.name == name })
		if i < 0 {
			h.all = append(h.all, h.waiting(name))
		} else if h.all[i].state == done {
			h.all[i] = h.waiting(name)
		}
	}
}
