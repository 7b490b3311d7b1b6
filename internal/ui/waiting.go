package ui

// Waiting shows a text that changes, such as the time of a wait, until stop. Without a terminal it shows nothing, and
// live is false.
func Waiting(p Progress, text func() string) (stop func(), live bool) {
	if a, is := p.(*Asking); is {
		p = a.now()
	}
	b, is := p.(*bars)
	if !is || b.terminal == nil {
		return func() {}, false
	}
	return b.waiting(text), true
}
