package netprobe

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"airgap.dev/airgap/internal/ui"
)

//go:embed page.html.tmpl
var pageTemplate string

// Page is what the owners of the networks between the hosts get: who talks to
// whom, what of it was measured, and what has to be changed.
type Page struct {
	Cluster string    `json:"cluster"`
	Made    time.Time `json:"made"`
	Groups  []Group   `json:"groups"` // that flows name
	Flows   []Flow    `json:"flows"`
	// Notes are sentences about addresses and protocols that no flow says.
	Notes []string `json:"notes"`
	// Measured says which part of the ways between the hosts was tried; "" when
	// nobody has measured yet.
	Measured string    `json:"measured,omitempty"`
	Changes  []Finding `json:"changes,omitempty"` // what the network's owners have to do
}

// Group are hosts that a firewall's rule would name together.
type Group struct {
	Name      string   `json:"name"`
	Addresses []string `json:"addresses"`
}

// Flow is one thing that has to pass. The side that connects is From; answers
// come back on the same connection, or, of UDP, from the same port.
type Flow struct {
	From string `json:"from"`
	To   string `json:"to"`
	What string `json:"what"` // "TCP 6443"
	For  string `json:"for"`
	// Kind and Port are what is measured of it; none for what only the site's
	// people can see.
	Kind Kind `json:"-"`
	Port int  `json:"-"`

	State  FlowState `json:"state"`
	Faults []string  `json:"faults,omitempty"` // the ways that are closed
}

// FlowState is what is known of a flow.
type FlowState string

// What is known of a flow.
const (
	FlowUnmeasured FlowState = "not measured"
	FlowPasses     FlowState = "passes"
	FlowClosed     FlowState = "does not pass"
)

// Measure fills in what was measured between the hosts. What a host's own
// firewall takes has passed the network; of what never left its sender nothing is
// known.
func (p *Page) Measure(m *Matrix, needs Needs) {
	p.Measured = fmt.Sprintf("%d of %d ways between %d hosts", m.Tried, m.Of, len(m.Hosts))
	for i := range p.Flows {
		p.Flows[i].State, p.Flows[i].Faults = m.flow(p.Flows[i])
	}
	for _, f := range m.Findings(needs) {
		if f.Owner == "network" && f.Severity != Notes {
			p.Changes = append(p.Changes, f)
		}
	}
}

// Balanced is the kind of a flow through the load balancer.
const Balanced Kind = "balanced"

// flow is what the verdicts say of a flow.
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
		if v.State != Open && v.State != HostCloses {
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
		faults = append(faults, f.What+" "+strings.Join(f.Between, ", "))
	}
	if len(faults) > 0 {
		return FlowClosed, faults
	}
	return FlowPasses, nil
}

// HTML writes the page to be handed on and printed. It needs nothing but itself.
func (p *Page) HTML(w io.Writer) error {
	t, err := template.New("page").Funcs(template.FuncMap{
		"join": strings.Join, "time": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") },
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
	var b strings.Builder
	columns := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, g := range p.Groups {
		fmt.Fprintf(columns, "%s\t%s\n", g.Name, strings.Join(g.Addresses, ", "))
	}
	fmt.Fprintf(columns, "\nFROM\tTO\tBY\tMEASURED\tFOR\n")
	for _, f := range p.Flows {
		fmt.Fprintf(columns, "%s\t%s\t%s\t%s\t%s\n", f.From, f.To, f.What, f.State, f.For)
		for _, fault := range f.Faults {
			fmt.Fprintf(columns, "\t\t\t\t%s\n", fault)
		}
	}
	if err := columns.Flush(); err != nil {
		return err
	}
	for _, note := range p.Notes {
		fmt.Fprintf(&b, "\n%s\n", note)
	}
	for _, c := range p.Changes {
		fmt.Fprintf(&b, "\n%s: %s\n  %s\n", c.What, strings.Join(c.Between, "; "), c.Fix)
	}
	if p.Measured == "" {
		fmt.Fprintf(&b, "\nNothing of this has been measured yet.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
