package ui

import (
	"encoding/xml"
	"fmt"
	"io"
	"time"
)

// Suite is a JUnit test suite, in the form that CI servers read
// (junit-team/junit5, legacy XML; Jenkins' xunit plugin).
type Suite struct {
	XMLName   xml.Name `xml:"testsuite"`
	Name      string   `xml:"name,attr"`
	Hostname  string   `xml:"hostname,attr,omitempty"`
	Timestamp string   `xml:"timestamp,attr,omitempty"` // Timestamp of when it began
	Time      string   `xml:"time,attr,omitempty"`      // seconds that it took
	Tests     int      `xml:"tests,attr"`
	Failures  int      `xml:"failures,attr"`
	Errors    int      `xml:"errors,attr"`
	Skipped   int      `xml:"skipped,attr"`
	Cases     []Case   `xml:"testcase"`
	Output    string   `xml:"system-out,omitempty"`
}

// Case is one test of a Suite: passed, unless one of the three says otherwise.
type Case struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Failure *Problem `xml:"failure,omitempty"`
	Error   *Problem `xml:"error,omitempty"`
	Skipped *Problem `xml:"skipped,omitempty"`
	Output  string   `xml:"system-out,omitempty"`
}

// Problem is why a Case did not pass.
type Problem struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// Timestamp is a time as JUnit writes it, in UTC; "" of none.
func Timestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05")
}

// Add adds a case and counts it.
func (s *Suite) Add(c Case) {
	s.Tests++
	for n, problem := range map[*int]*Problem{&s.Failures: c.Failure, &s.Errors: c.Error, &s.Skipped: c.Skipped} {
		if problem != nil {
			*n++
		}
	}
	s.Cases = append(s.Cases, c)
}

// WriteJUnit writes one suite.
func WriteJUnit(w io.Writer, s Suite) error {
	return Escaped(w, func(w io.Writer) error { return writeXML(w, s) })
}

// WriteJUnits writes suites as one document.
func WriteJUnits(w io.Writer, all []Suite) error {
	suites := struct {
		XMLName xml.Name `xml:"testsuites"`
		Suites  []Suite
	}{Suites: all}
	return Escaped(w, func(w io.Writer) error { return writeXML(w, suites) })
}

func writeXML(w io.Writer, v any) error {
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("write JUnit report: %w", err)
	}
	_, err := fmt.Fprintln(w)
	return err
}
