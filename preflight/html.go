package preflight

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/internal/ui"
)

//go:embed preflight.html.tmpl
var htmlTemplate string

// columns is the largest number of hosts in a table: more do not fit on a sheet of A4.
const columns = 14

// HTML writes the reports as one self-contained page for passing on and printing: a table of
// hosts and checks, and below it each failure and warning with its hosts and its fix.
func (r Reports) HTML(w io.Writer) error {
	t, err := template.New("preflight").Funcs(template.FuncMap{"sign": sign, "join": strings.Join, "time": minute}).Parse(htmlTemplate)
	if err != nil {
		return err
	}
	if err := ui.Escaped(w, func(w io.Writer) error { return t.Execute(w, newPage(r)) }); err != nil {
		return fmt.Errorf("write the report as HTML: %w", err)
	}
	return nil
}

// sign is the text for a status in a cell, because not every reader sees, or prints, colors.
func sign(s Status) string {
	switch s {
	case Pass:
		return "ok"
	case Fail:
		return "FAIL"
	case Error:
		return "?"
	case Skip:
		return "–"
	default:
		return string(s)
	}
}

func minute(t time.Time) string {
	if t.IsZero() {
		return "an unknown time"
	}
	return t.UTC().Format("2006-01-02 15:04 UTC")
}

// page is the data of the template.
type page struct {
	Hosts  []judged
	Tables []table
	Checks []checked // every check that ran on at least one host
}

// judged is a column: a host with a unique name.
type judged struct {
	Report
	Name string
	by   map[string]Entry
}

// checked is a row: a check, and its findings on the hosts.
type checked struct {
	ID, Title, Breaks, Source string

	Number   int // of its section on the page
	Worst    Status
	Findings []finding
}

// finding is a result that is the same on all of its hosts.
type finding struct {
	Result
	Site     string
	Hosts    []string
	Captured bool // a host has packets that show it
}

// table is the part of the matrix that fits on a sheet of A4.
type table struct {
	Hosts []judged
	Rows  []row
}

type row struct {
	checked
	Cells []Entry // one per host; empty if the check did not run on the host
}

func newPage(r Reports) page {
	p := page{Hosts: judgedHosts(r)}
	p.Checks = checkedOn(r, p.Hosts)
	sheets := (len(p.Hosts) + columns - 1) / columns
	if sheets == 0 {
		return p
	}
	each := (len(p.Hosts) + sheets - 1) / sheets // tables of similar width
	for hosts := range slices.Chunk(p.Hosts, each) {
		p.Tables = append(p.Tables, newTable(hosts, p.Checks))
	}
	return p
}

// checkedOn returns every check that ran on at least one host, with its findings.
func checkedOn(r Reports, hosts []judged) []checked {
	all := union(r)
	for i := range all {
		all[i].Number = i + 1
		for _, h := range hosts {
			all[i].add(h)
		}
	}
	return all
}

// judgedHosts numbers hosts with the same name: servers with a default name, or one server
// before and after a fix.
func judgedHosts(r Reports) []judged {
	var all []judged
	count := map[string]int{}
	for _, one := range r {
		h := judged{Report: one, Name: one.Host, by: map[string]Entry{}}
		if count[one.Host]++; count[one.Host] > 1 {
			h.Name = fmt.Sprintf("%s (%d)", one.Host, count[one.Host])
		}
		for _, e := range one.Results {
			h.by[e.ID] = e
		}
		all = append(all, h)
	}
	return all
}

// union lists every check that ran on at least one host, in this program's order. Unknown
// checks of other releases come last.
func union(r Reports) []checked {
	order, breaks := map[string]int{}, map[string]string{}
	for i, c := range Checks() {
		order[c.ID], breaks[c.ID] = i-len(Checks()), c.Breaks // negative: before unknown checks, which have 0
	}
	var all []checked
	seen := map[string]bool{}
	for _, one := range r {
		for _, e := range one.Results {
			if !seen[e.ID] {
				seen[e.ID] = true
				all = append(all, checked{ID: e.ID, Title: e.Title, Breaks: breaks[e.ID], Source: e.Source, Worst: Pass})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b checked) int { return order[a.ID] - order[b.ID] })
	return all
}

// add records the finding on a host, except if it needs no action.
func (c *checked) add(h judged) {
	e, has := h.by[c.ID]
	if !has || e.Status == Pass || e.Status == Skip {
		return
	}
	c.Worst = worse(c.Worst, e.Status)
	for i, f := range c.Findings {
		if f.Result == e.Result && f.Site == e.Site {
			c.Findings[i].Hosts = append(f.Hosts, h.Name)
			c.Findings[i].Captured = f.Captured || len(e.Capture) > 0
			return
		}
	}
	c.Findings = append(c.Findings, finding{e.Result, e.Site, []string{h.Name}, len(e.Capture) > 0})
}

func newTable(hosts []judged, checks []checked) table {
	t := table{Hosts: hosts}
	for _, c := range checks {
		r := row{checked: c}
		for _, h := range hosts {
			r.Cells = append(r.Cells, h.by[c.ID])
		}
		t.Rows = append(t.Rows, r)
	}
	return t
}

// Blocking are the checks that stop the installation.
func (p page) Blocking() []checked { return p.worst(Fail, Error) }

// Warnings are the checks that warn and do not stop the installation.
func (p page) Warnings() []checked { return p.worst(Warn) }

func (p page) worst(statuses ...Status) []checked {
	var some []checked
	for _, c := range p.Checks {
		if slices.Contains(statuses, c.Worst) {
			some = append(some, c)
		}
	}
	return some
}

// Stopped counts the hosts on which the check stops the installation.
func (c checked) Stopped() int {
	n := 0
	for _, f := range c.Findings {
		if f.Status != Warn {
			n += len(f.Hosts)
		}
	}
	return n
}

// One is the host if there is exactly one, else nil.
func (p page) One() *judged {
	if len(p.Hosts) != 1 {
		return nil
	}
	return &p.Hosts[0]
}

// Few reports whether the host names fit next to each other.
func (t table) Few() bool { return len(t.Hosts) <= 3 }

// Ready counts the hosts that pass.
func (p page) Ready() int {
	n := 0
	for _, h := range p.Hosts {
		if h.Passed() {
			n++
		}
	}
	return n
}

// When is the period in which the hosts were checked.
func (p page) When() string {
	if len(p.Hosts) == 0 {
		return minute(time.Time{})
	}
	by := func(a, b judged) int { return a.Taken.Compare(b.Taken) }
	from, to := minute(slices.MinFunc(p.Hosts, by).Taken), minute(slices.MaxFunc(p.Hosts, by).Taken)
	if from == to {
		return "at " + from
	}
	return "between " + from + " and " + to
}
