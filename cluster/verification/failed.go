package verification

import "airgap.dev/airgap/verify/result"

// ReportError says that the cluster is not as it should be.
type ReportError struct{ Report result.Report }

func (e *ReportError) Error() string { return "the cluster is not as it should be" }

// Failed is a ReportError unless the report is good.
func Failed(r result.Report) error {
	if r.OK {
		return nil
	}
	return &ReportError{r}
}
