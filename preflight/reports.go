package preflight

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"airgap.dev/airgap/internal/outlier"
)

// Reports are the reports of several hosts.
type Reports []Report

// Passed reports whether all hosts passed.
func (r Reports) Passed() bool {
	return !slices.ContainsFunc(r, func(one Report) bool { return !one.Passed() })
}

// maxReports is far more than the reports of a thousand hosts need.
const maxReports = 64 << 20

// maxTraits is far more than the traits of this program.
const maxTraits = 100

// ReadReports reads the output of `airgap preflight --output json`: one report, or a list of
// reports. It ignores unknown fields, because hosts may run another release. It computes whether
// a host passed from the results, and does not trust the value in the file.
func ReadReports(r io.Reader) (Reports, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxReports+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxReports {
		return nil, fmt.Errorf("the file is larger than %d MiB", maxReports>>20)
	}
	all, err := parseReports(bytes.TrimSpace(text))
	if err != nil {
		return nil, fmt.Errorf("parse the output of airgap preflight --output json: %w", err)
	}
	for i := range all {
		if err := all[i].accept(); err != nil {
			return nil, fmt.Errorf("report %d of %d: %w", i+1, len(all), err)
		}
	}
	return all, nil
}

func parseReports(text []byte) (Reports, error) {
	if len(text) == 0 {
		return nil, errors.New("the file is empty")
	}
	if text[0] != '[' {
		all := make(Reports, 1)
		return all, json.Unmarshal(text, &all[0])
	}
	var all Reports
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errors.New("the list is empty")
	}
	return all, nil
}

// accept cleans a report from a file for display. The error is about an invalid report.
func (r *Report) accept() error {
	for _, text := range []*string{&r.Host, &r.System, &r.Kernel} {
		*text = plainLine(*text)
	}
	if r.Host == "" || len(r.Results) == 0 {
		return errors.New("host or results are missing: expected the output of airgap preflight --output json")
	}
	if len(r.Traits) > maxTraits {
		return fmt.Errorf("%s: %d traits: expected at most %d", r.Host, len(r.Traits), maxTraits)
	}
	for i := range r.Traits {
		r.Traits[i] = outlier.Trait{Name: plainLine(r.Traits[i].Name), Value: plainLine(r.Traits[i].Value)}
	}
	r.Worst = Pass
	seen := map[string]bool{}
	for i := range r.Results {
		e := &r.Results[i]
		e.clean()
		if e.ID == "" || seen[e.ID] {
			return fmt.Errorf("%s: result %d has the id %q: expected a unique id", r.Host, i+1, e.ID)
		}
		seen[e.ID] = true
		if !slices.Contains([]Status{Pass, Warn, Fail, Skip, Error}, e.Status) {
			return fmt.Errorf("%s: check %s has the unknown status %q: read the file with the airgap version that wrote it", r.Host, e.ID, e.Status)
		}
		r.Worst = worse(r.Worst, e.Status)
	}
	return nil
}

func (e *Entry) clean() {
	for _, text := range []*string{&e.ID, &e.Title, &e.Source, &e.Site} {
		*text = plainLine(*text)
	}
	for _, text := range []*string{&e.Found, &e.Want, &e.Fix} {
		*text = plain(*text)
	}
	for i := range e.Capture {
		e.Capture[i] = plainLine(e.Capture[i])
	}
}

// plain removes control and direction characters from a text but keeps its lines: a report from
// another host must not hide a failure on the terminal.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || unicode.IsGraphic(r):
			return r
		case r == '\t':
			return ' '
		default:
			return unicode.ReplacementChar
		}
	}, text)
}

// plainLine is plain for text in one line.
func plainLine(text string) string { return strings.ReplaceAll(plain(text), "\n", " ") }
