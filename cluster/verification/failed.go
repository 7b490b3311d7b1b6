package verification

import (
	"errors"

	"airgap.dev/airgap/verify/result"
)

// ReportError says that the cluster is not as it should be.
type ReportError struct{ Report result.Report }

func (e *ReportError) Error() string { return "the cluster is not as it should be" }

// ReportIn returns the report in an error, or nil.
func ReportIn(err error) *result.Report {
	bad, is := errors.AsType[*ReportError](err)
	if !is {
		return nil
	}
	return &bad.Report
}

// Failed is a ReportError unless the report is good.
func Failed(r result.Report) error {
	if r.OK {
		return nil
	}
	return &ReportError{r}
}
