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
)

// Reports are those of several hosts, put together.
type Reports []Report

// Passed reports whether all of the hosts may be changed.
func (r Reports) Passed() bool {
	return !slices.ContainsFunc(r, func(one Report) bool { return !one.Passed() })
}

// Text writes the reports for people, one below the other.
func (r Reports) Text(w io.Writer) error {
	for i, one := range r {
		if i > 0 {
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		if err := one.Text(w); err != nil {
			return err
		}
	}
	return nil
}

// maxReports is far above what a list of a thousand hosts takes.
const maxReports = 64 << 20

// ReadReports reads what `airgap preflight --output json` wrote on hosts: one
// report, or a list of them. What it does not know in them is passed over,
// since hosts may run another release. Whether a host passed is told by the
// results, and not by what the file says of it.
func ReadReports(r io.Reader) (Reports, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxReports+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxReports {
		return nil, fmt.Errorf("reports have at most %d MiB", maxReports>>20)
	}
	all, err := parseReports(bytes.TrimSpace(text))
	if err != nil {
		return nil, fmt.Errorf("it is no report of airgap preflight --output json: %w", err)
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
		return nil, errors.New("it is empty")
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

// accept makes a report that came from elsewhere fit to be shown, or says why
// it is none.
func (r *Report) accept() error {
	for _, text := range []*string{&r.Host, &r.System, &r.Kernel} {
		*text = plainLine(*text)
	}
	if r.Host == "" || len(r.Results) == 0 {
		return errors.New("want a host and results in it, as airgap preflight --output json writes them")
	}
	r.Worst = Pass
	seen := map[string]bool{}
	for i := range r.Results {
		e := &r.Results[i]
		e.clean()
		if e.ID == "" || seen[e.ID] {
			return fmt.Errorf("%s: result %d has the id %q: want one, and no two the same", r.Host, i+1, e.ID)
		}
		seen[e.ID] = true
		if !slices.Contains([]Status{Pass, Warn, Fail, Skip, Error}, e.Status) {
			return fmt.Errorf("%s: check %s has the status %q, which this program does not know: read it with the airgap that wrote it", r.Host, e.ID, e.Status)
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
}

// plain is foreign text without what would move a terminal's cursor, or turn
// around what is read: a report must not hide a failure. Its lines stay.
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

// plainLine is plain for what stands in one line.
func plainLine(text string) string { return strings.ReplaceAll(plain(text), "\n", " ") }
