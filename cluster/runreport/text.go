package runreport

import (
	"cmp"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/internal/alike"
	"airgap.dev/airgap/internal/ui"
)

// marks stand for the name and the times in the text of a host that is compared with those of others. They are random: a
// host that is in wrong hands cannot write them.
type marks struct{ name, span string }

// Write writes the report for a terminal: a line for each run, and below it its steps with their changes. Hosts with the
// same runs and steps are together, without the times of the steps.
func (r *Report) Write(w io.Writer) error {
	t, mark := &text{w: w}, marks{rand.Text(), rand.Text()}
	var said []alike.Said
	for _, h := range r.Hosts {
		said = append(said, alike.Said{Host: h.Host, Text: h.text(mark.name, mark.span)})
	}
	for _, g := range alike.InOrder(said) {
		var same []Host
		for _, h := range r.Hosts {
			if slices.Contains(g.Hosts, h.Host) {
				same = append(same, h)
			}
		}
		if len(same) == 1 {
			t.line("%s", same[0].text(same[0].Host, ""))
			continue
		}
		all := strings.ReplaceAll(g.Text, mark.name, g.Name())
		for i := range same[0].Runs {
			all = strings.Replace(all, mark.span, span(same, i), 1)
		}
		t.line("%s", all)
	}
	return errors.Join(t.errs...)
}

// span is the time from the begin of a run on the first host to its end on the last one.
func span(hosts []Host, run int) string {
	all := hosts[0].Runs[run]
	for _, h := range hosts[1:] {
		if r := h.Runs[run]; r.Began.Before(all.Began) {
			all.Began = r.Began
		}
		if r := h.Runs[run]; r.Ended.After(all.Ended) {
			all.Ended = r.Ended
		}
	}
	return all.Period()
}

// text has the runs of a host under this name. Equal hosts have the same text with span in place of the period of each run,
// and without the times of its steps; "": with its own times.
func (h Host) text(name, span string) string {
	var lines []string
	line := func(format string, args ...any) {
		lines = append(lines, strings.TrimRight(fmt.Sprintf(format, args...), " "))
	}
	if h.Error != "" {
		line("%s: unknown: %s", name, h.Error)
	} else if len(h.Runs) == 0 {
		line("%s: no recorded change", name)
	}
	for _, run := range h.Runs {
		period := cmp.Or(span, run.Period())
		line("%s: %s", name, run.heading(period))
		if run.Error != "" && !slices.ContainsFunc(run.Steps, func(s Step) bool { return s.Error != "" }) {
			line("  error: %s", strings.ReplaceAll(run.Error, "\n", "\n  "))
		}
		for _, s := range run.Steps {
			clock := ""
			if span == "" {
				clock = s.Began.UTC().Format(time.TimeOnly) + "  "
			}
			line("  %s%-11s  %-16s  %s", clock, s.Result, s.Step, s.Title)
			for _, change := range s.Changes {
				line("              %s", change)
			}
			if s.Error != "" {
				line("              error: %s", strings.ReplaceAll(s.Error, "\n", "\n              "))
			}
		}
		for _, o := range run.Others {
			line("  on %s", o)
		}
	}
	return strings.Join(lines, "\n")
}

// heading is the command with its user, period and result.
func (r Run) heading(period string) string {
	from := ""
	if r.From != "" {
		from = " from " + r.From
	}
	command := r.Command
	if command == "" {
		command = "airgap"
	}
	return fmt.Sprintf("%s, by %s%s, %s: %s", command, r.User, from, period, r.Result)
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
