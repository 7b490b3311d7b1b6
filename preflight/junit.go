package preflight

import (
	"io"
	"strings"

	"airgap.dev/airgap/internal/ui"
)

// JUnit writes the report as a JUnit test suite with one test case per check. JUnit has no
// warnings: a warning is a passed case with the text as output.
func (r Report) JUnit(w io.Writer) error { return ui.WriteJUnit(w, r.junit()) }

// JUnit writes the reports as JUnit test suites, one per host.
func (r Reports) JUnit(w io.Writer) error {
	var all []ui.Suite
	for _, one := range r {
		all = append(all, one.junit())
	}
	return ui.WriteJUnits(w, all)
}

func (r Report) junit() ui.Suite {
	suite := ui.Suite{Name: "airgap preflight", Hostname: r.Host, Timestamp: ui.Timestamp(r.Taken)}
	for _, e := range r.Results {
		suite.Add(e.junit())
	}
	return suite
}

func (e Entry) junit() ui.Case {
	c := ui.Case{Name: e.ID, Class: "preflight"}
	problem := &ui.Problem{Message: e.Found, Text: e.details()}
	switch e.Status {
	case Fail:
		c.Failure = problem
	case Error:
		c.Error = problem
	case Skip:
		c.Skipped = problem
	default:
		c.Output = strings.TrimSpace(strings.Join([]string{string(e.Status) + ": " + e.Found, e.details()}, "\n"))
	}
	return c
}

func (e Entry) details() string {
	var lines []string
	if e.Site != "" {
		lines = append(lines, "site: "+e.Site)
	}
	if e.Want != "" {
		lines = append(lines, "want: "+e.Want)
	}
	if e.Fix != "" {
		lines = append(lines, "fix: "+e.Fix)
	}
	return strings.Join(lines, "\n")
}
