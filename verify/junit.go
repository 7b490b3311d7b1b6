package verify

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"` // seconds
	Began    string      `xml:"timestamp,attr"`
	Cases    []junitCase `xml:"testcase"`
	Output   string      `xml:"system-out,omitempty"` // the comparison with a baseline
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitProblem `xml:"failure,omitempty"`
	Error   *junitProblem `xml:"error,omitempty"`
	Skipped *junitProblem `xml:"skipped,omitempty"`
	Output  string        `xml:"system-out,omitempty"`
}

type junitProblem struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes the report as a JUnit test suite: a rule is a test case,
// a broken one a failure, one that could not be judged an error. One of which the
// cluster does not have what it is about is skipped, and one that was broken
// before passes, with what was found as the case's output.
func (r Report) WriteJUnit(w io.Writer) error {
	suite := junitSuite{
		Name: "airgap verify", Time: fmt.Sprintf("%.3f", r.Took.Seconds()), Began: r.Began.Format("2006-01-02T15:04:05"),
	}
	for _, rule := range r.Rules {
		suite.add(rule, r)
	}
	if late := r.of(soaking); len(late) > 0 {
		suite.add(RuleResult{ID: soaking, Outcome: Broken}, r)
	}
	if r.Baseline != nil {
		var b strings.Builder
		r.Baseline.write(&b)
		suite.Output = b.String()
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(suite); err != nil {
		return fmt.Errorf("write JUnit report: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (s *junitSuite) add(rule RuleResult, r Report) {
	findings := r.of(rule.ID)
	c := junitCase{Class: "airgap.verify", Name: rule.ID}
	switch rule.Outcome {
	case Broken:
		var b strings.Builder
		for _, f := range findings {
			f.write(&b, r.Began)
		}
		c.Failure = &junitProblem{Message: findings[0].Object + ": " + findings[0].Saw, Text: b.String()}
		s.Failures++
	case Known:
		c.Output = "broken as in the baseline"
	case Unseen:
		c.Error = &junitProblem{Message: "it could not be judged"}
		s.Errors++
	case LeftOut:
		c.Skipped = &junitProblem{Message: "the cluster does not have what the rule is about"}
		s.Skipped++
	}
	s.Tests++
	s.Cases = append(s.Cases, c)
}
