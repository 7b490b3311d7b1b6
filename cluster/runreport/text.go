package runreport

import (
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/internal/ui"
)

// Write writes the report for a terminal: a line for each run, and below it its steps with their changes.
func (r *Report) Write(w io.Writer) error {
	t := &text{w: w}
	for _, h := range r.Hosts {
		if h.Error != "" {
			t.line("%s: unknown: %s", h.Host, h.Error)
		} else if len(h.Runs) == 0 {
			t.line("%s: no recorded change", h.Host)
		}
		for _, run := range h.Runs {
			t.line("%s: %s", h.Host, run.heading())
			if run.Error != "" && !slices.ContainsFunc(run.Steps, func(s Step) bool { return s.Error != "" }) {
				t.line("  error: %s", strings.ReplaceAll(run.Error, "\n", "\n  "))
			}
			for _, s := range run.Steps {
				t.line("  %s  %-11s  %-16s  %s", s.Began.UTC().Format(time.TimeOnly), s.Result, s.Step, s.Title)
				for _, change := range s.Changes {
					t.line("              %s", change)
				}
				if s.Error != "" {
					t.line("              error: %s", strings.ReplaceAll(s.Error, "\n", "\n              "))
				}
			}
			for _, o := range run.Others {
				t.line("  on %s", o)
			}
		}
	}
	return errors.Join(t.errs...)
}

// heading is the command with its user, period and result.
func (r Run) heading() string {
	from := ""
	if r.From != "" {
		from = " from " + r.From
	}
	command := r.Command
	if command == "" {
		command = "airgap"
	}
	return fmt.Sprintf("%s, by %s%s, %s: %s", command, r.User, from, r.Period(), r.Result)
}

// Period is the time of a run in UTC.
func (r Run) Period() string {
	return fmt.Sprintf("%s to %s UTC", r.Began.UTC().Format(time.DateTime), r.Ended.UTC().Format(time.TimeOnly))
}

type text struct {
	w    io.Writer
	errs []error
}

func (t *text) line(format string, args ...any) {
	if len(t.errs) == 0 {
		if _, err := fmt.Fprintln(t.w, strings.TrimRight(fmt.Sprintf(format, args...), " ")); err != nil {
			t.errs = append(t.errs, err)
		}
	}
}

//go:embed report.html.tmpl
var page string

// HTML writes the report as one page without other files, for a change ticket.
func (r *Report) HTML(w io.Writer) error {
	t, err := template.New("report").Funcs(template.FuncMap{"clock": func(t time.Time) string { return t.UTC().Format(time.TimeOnly) }}).Parse(page)
	if err != nil {
		return err
	}
	if err := ui.Escaped(w, func(w io.Writer) error { return t.Execute(w, r) }); err != nil {
		return fmt.Errorf("write the report as HTML: %w", err)
	}
	return nil
}
