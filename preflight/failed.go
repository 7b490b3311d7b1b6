package preflight

import "fmt"

// FailedError reports that a check failed before the preflight checks ran. Nothing was changed.
type FailedError struct{ Err error }

func (e *FailedError) Error() string { return e.Err.Error() }

func (e *FailedError) Unwrap() error { return e.Err }

// ReportError reports that checks of one host failed. Nothing was changed.
type ReportError struct{ Report Report }

func (e *ReportError) Error() string { return "preflight failed on " + e.Report.Host }

// ReportsError reports that checks of some hosts failed. Nothing was changed.
type ReportsError struct{ Failed, All Reports }

func (e *ReportsError) Error() string {
	return fmt.Sprintf("preflight failed in %d of %d reports", len(e.Failed), len(e.All))
}
