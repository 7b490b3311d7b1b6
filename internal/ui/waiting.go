package ui

// Waiting shows a text that changes, such as the time of a wait, until stop. Without a terminal it shows nothing, and
// live is false.
func Waiting(p Progress, text func() string) (stop func(), live bool) {
	b := barsOf(p)
	if b == nil {
		return func() {}, false
	}
	return b.waiting(text), true
}

// Live reports whether the progress is on a terminal, with a line for each host.
func Live(p Progress) bool { return barsOf(p) != nil }

// barsOf returns the bars on a terminal, or nil.
func barsOf(p Progress) *bars {
	if a, is := p.(*Asking); is {
		p = a.now()
	}
	b, is := p.(*bars)
	if !is || b.terminal == nil {
		return nil
	}
	return b
}
