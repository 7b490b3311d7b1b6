package netprobe

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"

	"airgap.dev/airgap/internal/ui"
)

//go:embed page.html.tmpl
var pageTemplate string

// Page is the page for the administrators of the network: the connections of the cluster, the
// results of a measurement, and the required changes.
type Page struct {
	// Language is the language of the flows, the notes and the page around them. Results of a
	// measurement are in English.
	Language Language `json:"-"`

	Cluster string    `json:"cluster"`
	Made    time.Time `json:"made"`
	Groups  []Group   `json:"groups"` // of hosts in the flows
	Flows   []Flow    `json:"flows"`
	// Notes are sentences about addresses and protocols that are not in the flows.
	Notes []string `json:"notes"`
	// Measured is the tested part of the paths between the hosts; "" without a measurement.
	Measured string    `json:"measured,omitempty"`
	Changes  []Finding `json:"changes,omitempty"` // for the network administrators
}

// Group is a group of hosts for a firewall rule.
type Group struct {
	Name      string   `json:"name"`
	Addresses []string `json:"addresses"`
}

// Flow is traffic that the network must allow. From opens the connection; replies use the same
// connection or, for UDP, the same port.
type Flow struct {
	From string `json:"from"`
	To   string `json:"to"`
	What string `json:"what"` // "TCP 6443"
	For  string `json:"for"`
	// Kind and Port select the results of the measurement; empty for a flow that airgap cannot
	// measure.
	Kind Kind `json:"-"`
	Port int  `json:"-"`

	State  FlowState `json:"state"`
	Faults []string  `json:"faults,omitempty"` // the closed paths
}

// FlowState is the result of the measurement for a flow.
type FlowState string

// Results for a flow.
const (
	FlowUnmeasured FlowState = "not measured"
	FlowPasses     FlowState = "passes"
	FlowClosed     FlowState = "does not pass"
)

// Measure adds the results of a measurement. A packet or an answer that a host's own firewall blocks
// has passed the network. A packet that did not leave its sender has no result.
func (p *Page) Measure(m *Matrix, needs Needs) {
	translated := *m
	translated.in, m = p.Language, &translated
	p.Measured = p.Language.Say("%d of %d ways between %d hosts", m.Tried, m.Of, len(m.Hosts))
	for i := range p.Flows {
		p.Flows[i].State, p.Flows[i].Faults = m.flow(p.Flows[i])
	}
	for _, f := range m.Findings(needs) {
		if f.Owner.onNetwork() && f.Severity != Notes {
			p.Changes = append(p.Changes, f)
		}
	}
}

// Balanced is the kind of a flow through the load balancer.
const Balanced Kind = "balanced"

// flow returns the result for a flow, and its closed paths.
func (m *Matrix) flow(f Flow) (FlowState, []string) {
	if f.Kind == Balanced {
		return m.balanced()
	}
	tried := false
	var closed []Verdict
	for _, v := range m.Verdicts {
		if f.Kind == "" || v.Kind != f.Kind || v.Port != f.Port || v.State == Unknown || v.State == SenderCloses {
			continue
		}
		tried = true
		if v.State != Open && v.State != HostCloses && v.State != AnswersBlocked && v.State != AnswersKept {
			closed = append(closed, v)
		}
	}
	switch {
	case !tried:
		return FlowUnmeasured, nil
	case len(closed) == 0:
		return FlowPasses, nil
	default:
		return FlowClosed, m.between(closed)
	}
}

func (m *Matrix) balanced() (FlowState, []string) {
	if len(m.VIPs) == 0 {
		return FlowUnmeasured, nil
	}
	var faults []string
	for _, f := range m.balancer() {
		if f.Severity != Stops {
			continue
		}
		faults = append(faults, f.What+": "+strings.Join(f.Between, ", "))
	}
	if len(faults) > 0 {
		return FlowClosed, faults
	}
	return FlowPasses, nil
}

// HTML writes a self-contained page for passing on and printing.
func (p *Page) HTML(w io.Writer) error {
	t, err := template.New("page").Funcs(template.FuncMap{
		"join": strings.Join, "say": p.Language.Say, "time": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") },
	}).Parse(pageTemplate)
	if err != nil {
		return err
	}
	if err := ui.Escaped(w, func(w io.Writer) error { return t.Execute(w, p) }); err != nil {
		return fmt.Errorf("write the page about the network: %w", err)
	}
	return nil
}

// Text writes the same for a terminal.
func (p *Page) Text(w io.Writer) error {
	say := p.Language.Say
	var hosts [][]string
	for _, g := range p.Groups {
		hosts = append(hosts, []string{g.Name, strings.Join(g.Addresses, ", ")})
	}
	flows := [][]string{{strings.ToUpper(say("From")), strings.ToUpper(say("To")), strings.ToUpper(say("By")), strings.ToUpper(say("Measured")), strings.ToUpper(say("For"))}}
	for _, f := range p.Flows {
		flows = append(flows, []string{f.From, f.To, f.What, say(string(f.State)), f.For})
		for _, fault := range f.Faults {
			flows = append(flows, []string{"", "", "", "", fault})
		}
	}
	var b strings.Builder
	b.WriteString(columns(hosts) + "\n" + columns(flows))
	for _, note := range p.Notes {
		fmt.Fprintf(&b, "\n%s\n", note)
	}
	for _, c := range p.Changes {
		fmt.Fprintf(&b, "\n%s: %s (%s: %s)\n  %s\n", c.What, strings.Join(c.Between, "; "), say("Owner"), say(c.Owner.Name()), c.Fix)
		for _, line := range c.Capture {
			fmt.Fprintf(&b, "    %s\n", line)
		}
		if c.NoCapture != "" {
			fmt.Fprintf(&b, "    %s\n", c.NoCapture)
		}
	}
	if p.Measured == "" {
		fmt.Fprintf(&b, "\n%s\n", say("Nothing has been measured yet."))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// columns aligns rows. A character of Korean is two columns wide, which text/tabwriter does not know.
func columns(rows [][]string) string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], runewidth.StringWidth(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		for i, cell := range row[:len(row)-1] {
			b.WriteString(runewidth.FillRight(cell, widths[i]) + "  ")
		}
		b.WriteString(row[len(row)-1] + "\n")
	}
	return b.String()
}
