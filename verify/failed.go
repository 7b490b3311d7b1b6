package verify

// ReportError says that the cluster is not as it should be.
type ReportError struct{ Report Report }

func (e *ReportError) Error() string { return "the cluster is not as it should be" }

// Err is a ReportError unless the report is good.
func (r Report) Err() error {
	if r.OK {
		return nil
	}
	return &ReportError{r}
}
