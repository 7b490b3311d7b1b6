package preflight

import (
	"fmt"
	"io"
	"strings"
	"time"

	"airgap.dev/airgap/internal/outlier"
)

// Report has the result of every check on one host.
type Report struct {
	Host    string          `yaml:"host" json:"host"`
	System  string          `yaml:"system" json:"system"`
	Kernel  string          `yaml:"kernel" json:"kernel"`
	Taken   time.Time       `yaml:"taken" json:"taken"` // from the host's clock
	Worst   Status          `yaml:"worst" json:"worst"`
	Results []Entry         `yaml:"results" json:"results"`
	Traits  []outlier.Trait `yaml:"traits,omitempty" json:"traits,omitempty"`
}

// Entry is the result of one check.
type Entry struct {
	ID     string `yaml:"id" json:"id"`
	Title  string `yaml:"title" json:"title"`
	Source string `yaml:"source" json:"source"`
	Site   string `yaml:"site,omitempty" json:"site,omitempty"` // the settings in airgap.yaml: "severity warn"
	Result `yaml:",inline"`
	// Owners are the teams of the site that can fix a failure or a warning, if not only the administrators of
	// the hosts: "network", "hosts", "balancer", "dns", "hypervisor".
	Owners []string `yaml:"owners,omitempty" json:"owners,omitempty"`
	// Capture has the packets of failing exchanges between hosts, for a network team.
	Capture []string `yaml:"capture,omitempty" json:"capture,omitempty"`
	// Paths are the numbers of the measured paths between hosts, the worst one first.
	Paths []Path `yaml:"paths,omitempty" json:"paths,omitempty"`
}

// Troubled reports whether the check failed or warns.
func (e Entry) Troubled() bool { return e.Status == Fail || e.Status == Warn }

// Passed reports whether no check failed and no result is unknown.
func (r Report) Passed() bool { return r.Worst != Fail && r.Worst != Error }

// Count counts the results with the status.
func (r Report) Count(status Status) int {
	n := 0
	for _, e := range r.Results {
		if e.Status == status {
			n++
		}
	}
	return n
}

// Text writes the report for a terminal: one line per check, and the expected state and the fix
// below each check that did not pass.
func (r Report) Text(w io.Writer) error {
	p := &printer{w: w}
	p.line("%s", r.heading())
	width := 0
	for _, e := range r.Results {
		width = max(width, len(e.ID))
	}
	for _, e := range r.Results {
		e.text(p, width)
	}
	p.line("%s", r.Summary())
	return p.err
}

// heading is the host, its operating system and its kernel. The report of the measurement between
// hosts has only the name.
func (r Report) heading() string {
	if r.System == "" && r.Kernel == "" {
		return r.Host
	}
	return fmt.Sprintf("%s: %s, kernel %s", r.Host, r.System, r.Kernel)
}

// Summary counts the results: "28 passed, 1 warning, 2 failed".
func (r Report) Summary() string {
	parts := []string{fmt.Sprintf("%d passed", r.Count(Pass))}
	for _, s := range []struct {
		status    Status
		one, many string
	}{{Warn, "warning", "warnings"}, {Fail, "failed", "failed"}, {Error, "unknown", "unknown"}, {Skip, "skipped", "skipped"}} {
		switch n := r.Count(s.status); n {
		case 0:
		case 1:
			parts = append(parts, "1 "+s.one)
		default:
			parts = append(parts, fmt.Sprintf("%d %s", n, s.many))
		}
	}
	return strings.Join(parts, ", ")
}

func (e Entry) text(p *printer, width int) {
	indent := strings.Repeat(" ", width+11)
	p.line("  %-5s  %-*s  %s", mark(e.Status), width, e.ID, strings.ReplaceAll(e.Found, "\n", "\n"+indent))
	if e.Site != "" && e.Status != Skip {
		p.line("%ssite %s (airgap.yaml)", indent, e.Site)
	}
	if e.Status == Pass || e.Status == Skip {
		return
	}
	for _, detail := range []struct{ label, text string }{{"want", e.Want}, {"fix", e.Fix}} {
		if detail.text != "" {
			p.line("%s%-4s %s", indent, detail.label, strings.ReplaceAll(detail.text, "\n", "\n"+indent+"     "))
		}
	}
	if len(e.Capture) > 0 { // too long for a terminal
		p.line("%s%s", indent, whereCaptured)
	}
}

// mark is the word for a status in a text. Upper case stands for what stops an installation.
func mark(s Status) string {
	if s == Fail || s == Error {
		return strings.ToUpper(string(s))
	}
	return string(s)
}

const whereCaptured = "the packets that show this are in --output json, and for the network team on the page of --network-page"

// printer keeps the first error, so that callers need no check after each line.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintln(p.w, strings.TrimRight(fmt.Sprintf(format, args...), " "))
	}
}
