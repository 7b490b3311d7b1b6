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

// columns is how many hosts a table of the page has at most: more do not fit
// on a sheet of A4.
const columns = 14

// HTML writes the reports as one page to be handed on and printed: a table of
// hosts and checks, and below it what is in the way, on which hosts, and what
// an administrator does about it. The page needs nothing but itself.
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

// sign is a status in a cell: told by the word, since not everybody sees, or
// prints, colours.
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

// page is what the template shows.
type page struct {
	Hosts  []judged
	Tables []table
	Checks []checked // every one that some host was judged by
}

// judged is a column: a host, by a name that no other has.
type judged struct {
	Report
	Name string
	by   map[string]Entry
}

// checked is a row: a check, and what it found on the hosts.
type checked struct {
	ID, Title, Breaks, Source string

	Number   int // of its paragraph on the page
	Worst    Status
	Findings []finding
}

// finding is what is the same on all of its hosts.
type finding struct {
	Result
	Site  string
	Hosts []string
}

// table is the part of the matrix that fits on a sheet.
type table struct {
	Hosts []judged
	Rows  []row
}

type row struct {
	checked
	Cells []Entry // one a host; empty where the host was not judged by the check
}

func newPage(r Reports) page {
	p := page{Hosts: judgedHosts(r)}
	for i, c := range union(r) {
		c.Number = i + 1
		for _, h := range p.Hosts {
			c.add(h)
		}
		p.Checks = append(p.Checks, c)
	}
	sheets := (len(p.Hosts) + columns - 1) / columns
	if sheets == 0 {
		return p
	}
	each := (len(p.Hosts) + sheets - 1) / sheets // tables of about the same width
	for hosts := range slices.Chunk(p.Hosts, each) {
		p.Tables = append(p.Tables, newTable(hosts, p.Checks))
	}
	return p
}

// judgedHosts tells hosts of one name apart: servers that nobody has named yet,
// or one server before and after it was mended.
func judgedHosts(r Reports) []judged {
	var all []judged
	times := map[string]int{}
	for _, one := range r {
		h := judged{Report: one, Name: one.Host, by: map[string]Entry{}}
		if times[one.Host]++; times[one.Host] > 1 {
			h.Name = fmt.Sprintf("%s (%d)", one.Host, times[one.Host])
		}
		for _, e := range one.Results {
			h.by[e.ID] = e
		}
		all = append(all, h)
	}
	return all
}

// union is every check that one of the hosts was judged by, in this program's
// order; those that it does not know, of other releases, come last.
func union(r Reports) []checked {
	order, breaks := map[string]int{}, map[string]string{}
	for i, c := range Checks() {
		order[c.ID], breaks[c.ID] = i-len(Checks()), c.Breaks // below 0, which unknown ones have
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

// add notes what the check found on a host, unless nothing has to be done.
func (c *checked) add(h judged) {
	e, has := h.by[c.ID]
	if !has || e.Status == Pass || e.Status == Skip {
		return
	}
	c.Worst = worse(c.Worst, e.Status)
	for i, f := range c.Findings {
		if f.Result == e.Result && f.Site == e.Site {
			c.Findings[i].Hosts = append(f.Hosts, h.Name)
			return
		}
	}
	c.Findings = append(c.Findings, finding{e.Result, e.Site, []string{h.Name}})
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

// Blocking are the checks without which a host may not be changed.
func (p page) Blocking() []checked { return p.worst(Fail, Error) }

// Warnings are the checks that stop nothing.
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

// Stopped counts the hosts that the check keeps from being changed.
func (c checked) Stopped() int {
	n := 0
	for _, f := range c.Findings {
		if f.Status != Warn {
			n += len(f.Hosts)
		}
	}
	return n
}

// One is the host when there is only one.
func (p page) One() *judged {
	if len(p.Hosts) != 1 {
		return nil
	}
	return &p.Hosts[0]
}

// Few says that the names of the hosts have room beside each other.
func (t table) Few() bool { return len(t.Hosts) <= 3 }

// Ready counts the hosts that may be changed.
func (p page) Ready() int {
	n := 0
	for _, h := range p.Hosts {
		if h.Passed() {
			n++
		}
	}
	return n
}

// When is the span of time in which the hosts were checked.
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
