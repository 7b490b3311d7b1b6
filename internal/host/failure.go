package host

// Failure is a failed change of a host in words that help: what was
// tried, what the unit behind it said last, and what to do next.
type Failure struct {
	What string // verb and object: "start containerd"
	Err  error
	Said string // the last lines of the unit's journal, or ""
	Next string // what to try, or ""

	Unit  string // whose last words Said are
	Ended string // what the control plane's pods said last that have ended meanwhile, or ""
}

func (f *Failure) Error() string {
	text := f.What + ": " + f.Err.Error()
	if f.Said != "" {
		text += "\n" + f.Unit + " said last:\n" + f.Said
	}
	if f.Ended != "" {
		text += "\n" + f.Ended
	}
	return text
}

func (f *Failure) Unwrap() error { return f.Err }

// Hint is what to try next, or "".
func (f *Failure) Hint() string { return f.Next }
