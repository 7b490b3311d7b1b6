package verify

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
)

// WriteText writes the report for people.
func (r Report) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, rule := range r.Rules {
		fmt.Fprintf(&b, "%-7s %s\n", rule.Outcome, rule.Title)
		for _, f := range r.of(rule.ID) {
			f.write(&b)
		}
	}
	for _, f := range r.of(soaking) {
		f.write(&b)
	}
	c := r.Counts
	fmt.Fprintf(&b, "\n%s after %s: %s, %s, %s, %s\n", r.verdict(), r.Took.Round(100*time.Millisecond),
		plural(c.Nodes, "node"), plural(c.Pods, "pod"), plural(c.Workloads, "workload"), plural(c.Images, "image"))
	_, err := io.WriteString(w, b.String())
	return err
}

func (r Report) verdict() string {
	if r.OK {
		return "The cluster is well"
	}
	return "The cluster is not well (" + plural(len(r.Findings), "finding") + ")"
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func (r Report) of(rule string) []Finding {
	var of []Finding
	for _, f := range r.Findings {
		if f.Rule == rule {
			of = append(of, f)
		}
	}
	return of
}

func (f Finding) write(b *strings.Builder) {
	fmt.Fprintf(b, "        %s: %s\n", f.Object, f.Saw)
	fmt.Fprintf(b, "          want: %s, broken since %s\n", f.Want, f.Since.Format(time.TimeOnly))
	if f.Fix != "" {
		fmt.Fprintf(b, "          fix:  %s\n", f.Fix)
	}
}

type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Time     string      `xml:"time,attr"` // seconds
	Began    string      `xml:"timestamp,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitProblem `xml:"failure,omitempty"`
	Error   *junitProblem `xml:"error,omitempty"`
}

type junitProblem struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes the report as a JUnit test suite: a rule is a test case,
// a broken one a failure, one that could not be judged an error.
func (r Report) WriteJUnit(w io.Writer) error {
	suite := junitSuite{
		Name: "airgap verify", Time: fmt.Sprintf("%.3f", r.Took.Seconds()), Began: r.Began.Format("2006-01-02T15:04:05"),
	}
	for _, rule := range r.Rules {
		suite.add(rule, r.of(rule.ID))
	}
	if late := r.of(soaking); len(late) > 0 {
		suite.add(RuleResult{ID: soaking, Outcome: Broken}, late)
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

func (s *junitSuite) add(rule RuleResult, findings []Finding) {
	c := junitCase{Class: "airgap.verify", Name: rule.ID}
	switch rule.Outcome {
	case Broken:
		var b strings.Builder
		for _, f := range findings {
			f.write(&b)
		}
		c.Failure = &junitProblem{Message: findings[0].Object + ": " + findings[0].Saw, Text: b.String()}
		s.Failures++
	case Unseen:
		c.Error = &junitProblem{Message: "it could not be judged"}
		s.Errors++
	}
	s.Tests++
	s.Cases = append(s.Cases, c)
}
