package gpu

// Failure is an error that prevents the use of a host's GPUs, with log lines of the host and a hint.
type Failure struct {
	What string // verb and object: "load NVIDIA's kernel module"
	Err  error
	Log  string // the last lines of a related log, or ""
	Next string // the hint, or ""
}

func (f *Failure) Error() string {
	text := f.What + ": " + f.Err.Error()
	if f.Log != "" {
		text += "\n" + f.Log
	}
	return text
}

func (f *Failure) Unwrap() error { return f.Err }

// Hint returns the hint, or "".
func (f *Failure) Hint() string { return f.Next }

// RebootError means that a step can continue only after a reboot of the host. Its completed work
// remains, and the next run completes the step.
type RebootError struct{ Why string }

func (e *RebootError) Error() string { return "this host requires a reboot: " + e.Why }

// Hint returns the hint.
func (e *RebootError) Hint() string {
	return "reboot this host, then run the same command again: it continues where it stopped"
}
