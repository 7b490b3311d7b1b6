package preflight

// FailedError says that a check failed that is made before the others, and that nothing was changed.
type FailedError struct{ Err error }

func (e *FailedError) Error() string { return e.Err.Error() }
func (e *FailedError) Unwrap() error { return e.Err }
