package preflight

import "strings"

// FailedError says that a check failed that is made before the others, and that nothing was changed.
type FailedError struct{ Err error }

func (e *FailedError) Error() string { return e.Err.Error() }
func (e *FailedError) Unwrap() error { return e.Err }

// ReportError says that checks of one host failed, and that nothing was changed.
type ReportError struct{ Report Report }

func (e *ReportError) Error() string { return "preflight failed on " + e.Report.Host }

// ReportsError says so of some of several hosts.
type ReportsError struct {
	Failed Reports
	All    Reports // also those that passed
}

func (e *ReportsError) Error() string {
	var hosts []string
	for _, r := range e.Failed {
		hosts = append(hosts, r.Host)
	}
	return "preflight failed on " + strings.Join(hosts, ", ")
}
