package verdict

import "airgap.dev/airgap/verify"

// ReportError says that the cluster is not as it should be.
type ReportError struct{ Report verify.Report }

func (e *ReportError) Error() string { return "the cluster is not as it should be" }

// Failed is a ReportError unless the report is good.
func Failed(r verify.Report) error {
	if r.OK {
		return nil
	}
	return &ReportError{r}
}
