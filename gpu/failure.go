package gpu

// Failure is what keeps a host's cards from being used, with what the host itself
// said about it, and what to do next.
type Failure struct {
	What string // verb and object: "load NVIDIA's kernel module"
	Err  error
	Said string // the last lines of the log that knows more, or ""
	Next string // what to do, or ""
}

func (f *Failure) Error() string {
	text := f.What + ": " + f.Err.Error()
	if f.Said != "" {
		text += "\n" + f.Said
	}
	return text
}

func (f *Failure) Unwrap() error { return f.Err }

// Hint is what to do next, or "".
func (f *Failure) Hint() string { return f.Next }

// RebootError says that a step can only go on after the host has been started
// anew. What it has done until then stays; the step ends in the next run.
type RebootError struct{ Why string }

func (e *RebootError) Error() string { return "this host has to be rebooted: " + e.Why }

// Hint is what to do next.
func (e *RebootError) Hint() string {
	return "reboot this host, then run the same command again: it goes on where it stopped"
}
