package preflight

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	XMLName   xml.Name    `xml:"testsuite"`
	Name      string      `xml:"name,attr"`
	Hostname  string      `xml:"hostname,attr"`
	Timestamp string      `xml:"timestamp,attr,omitempty"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Errors    int         `xml:"errors,attr"`
	Skipped   int         `xml:"skipped,attr"`
	Cases     []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name      string        `xml:"name,attr"`
	Class     string        `xml:"classname,attr"`
	Failure   *junitMessage `xml:"failure,omitempty"`
	Error     *junitMessage `xml:"error,omitempty"`
	Skipped   *junitMessage `xml:"skipped,omitempty"`
	SystemOut string        `xml:"system-out,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// JUnit writes the report as a JUnit test suite, a test case a check. JUnit
// knows no warnings: those pass, with their text as the case's output.
func (r Report) JUnit(w io.Writer) error { return writeJUnit(w, r.junit()) }

// JUnit writes the reports as JUnit test suites, one a host.
func (r Reports) JUnit(w io.Writer) error {
	var all junitSuites
	for _, one := range r {
		all.Suites = append(all.Suites, one.junit())
	}
	return writeJUnit(w, all)
}

func writeJUnit(w io.Writer, v any) error {
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write JUnit report: %w", err)
	}
	_, err := fmt.Fprintln(w)
	return err
}

func (r Report) junit() junitSuite {
	suite := junitSuite{Name: "airgap preflight", Hostname: r.Host, Tests: len(r.Results),
		Failures: r.Count(Fail), Errors: r.Count(Error), Skipped: r.Count(Skip)}
	if !r.Taken.IsZero() {
		suite.Timestamp = r.Taken.UTC().Format("2006-01-02T15:04:05")
	}
	for _, e := range r.Results {
		suite.Cases = append(suite.Cases, e.junit())
	}
	return suite
}

func (e Entry) junit() junitCase {
	c := junitCase{Name: e.ID, Class: "preflight"}
	message := &junitMessage{Message: e.Found, Text: e.details()}
	switch e.Status {
	case Fail:
		c.Failure = message
	case Error:
		c.Error = message
	case Skip:
		c.Skipped = message
	default:
		c.SystemOut = strings.TrimSpace(strings.Join([]string{string(e.Status) + ": " + e.Found, e.details()}, "\n"))
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
