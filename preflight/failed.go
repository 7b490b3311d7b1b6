package preflight

import "fmt"

// FailedError says that a check failed that is made before the others, and that nothing was changed.
type FailedError struct{ Err error }

func (e *FailedError) Error() string { return e.Err.Error() }
func (e *FailedError) Unwrap() error { return e.Err }

// ReportError says that checks of one host failed, and that nothing was changed.
type ReportError struct{ Report Report }

func (e *ReportError) Error() string { return "preflight failed on " + e.Report.Host }

// ReportsError says so of some of all hosts.
type ReportsError struct{ Failed, All Reports }

func (e *ReportsError) Error() string {
	return fmt.Sprintf("preflight failed on %d of %d", len(e.Failed), len(e.All))
}
