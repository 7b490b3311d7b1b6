package host

// Failure is a failed change of a host: the change, the last log lines of
// the unit, and the next step.
type Failure struct {
	What string // verb and object: "start containerd"
	Err  error
	Said string // the last lines of the unit's journal, or ""
	Next string // the next step, or ""

	Unit  string // the unit of the lines in Said
	Ended string // last log lines of the control plane's pods that have ended, or ""
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

// Hint returns the next step, or "".
func (f *Failure) Hint() string { return f.Next }
