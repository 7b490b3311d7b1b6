package preflight

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/hostrange"
	"airgap.dev/airgap/internal/outlier"
	"airgap.dev/airgap/internal/ui"
)

// shownFindings is the number of different findings of a check that the text has. The other formats have all.
const shownFindings = 3

// Text writes the reports for a terminal. The reports of several hosts are grouped by check: each finding has the
// names of its hosts, and passed checks are counted. Failures are last, because a terminal shows the end.
func (r Reports) Text(w io.Writer) error {
	if len(r) == 1 {
		return r[0].Text(w)
	}
	p := &printer{w: w}
	hosts := judgedHosts(r)
	p.err = outlier.Write(w, outliers(hosts))
	g := grouped{checks: checkedOn(r, hosts), reports: len(r)}
	for _, status := range []Status{Warn, Error, Fail} {
		for _, c := range g.checks {
			g.text(p, c, status)
		}
	}
	p.line("%s", r.summary())
	return p.err
}

// grouped has the findings of all reports.
type grouped struct {
	checks  []checked
	reports int
}

// text writes the findings of a check that have the status.
func (g grouped) text(p *printer, c checked, status Status) {
	var found []finding
	for _, f := range c.Findings {
		if f.Status == status {
			found = append(found, f)
		}
	}
	if len(found) == 0 {
		return
	}
	slices.SortStableFunc(found, func(a, b finding) int { return cmp.Compare(len(b.Hosts), len(a.Hosts)) })
	p.line("%-5s  %s: %s", mark(status), c.ID, c.Title)
	shown := found[:min(len(found), shownFindings)]
	for i, f := range shown {
		g.finding(p, f, i+1 < len(shown) && shown[i+1].Want == f.Want && shown[i+1].Fix == f.Fix)
	}
	if rest := found[len(shown):]; len(rest) > 0 {
		p.line("       %s: airgap preflight --output json has them", ui.Count(len(rest), "other finding"))
		var names []string
		for _, f := range rest {
			names = append(names, f.Hosts...)
		}
		p.detail("on", hostrange.Join(names))
	}
}

// finding writes one finding. If the next finding has the same fix, the fix follows there.
func (g grouped) finding(p *printer, f finding, fixFollows bool) {
	p.detail("found", f.Found)
	p.detail("on", fmt.Sprintf("%s (%d of %d)", hostrange.Join(f.Hosts), len(f.Hosts), g.reports))
	if f.Site != "" {
		p.detail("site", f.Site+" (airgap.yaml)")
	}
	if !fixFollows {
		p.detail("want", f.Want)
		p.detail("fix", f.Fix)
	}
	if f.Captured {
		p.line("       %s", whereCaptured)
	}
}

// detail writes a labelled text below a check, if it is not empty.
func (p *printer) detail(label, text string) {
	if text != "" {
		p.line("       %-5s  %s", label, strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", 14)))
	}
}

// summary counts reports and results, and names the hosts that did not pass.
func (r Reports) summary() string {
	var failed []string
	passed, results := 0, 0
	for _, one := range r {
		if !one.Passed() {
			failed = append(failed, one.Host)
		}
		passed += one.Count(Pass)
		results += len(one.Results)
	}
	text := fmt.Sprintf("%d of %d hosts pass, %d of %d results passed", len(r)-len(failed), len(r), passed, results)
	if len(failed) > 0 {
		text += "; not ready: " + hostrange.Join(failed)
	}
	return text
}
