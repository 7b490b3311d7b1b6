package status

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"airgap.dev/airgap/cluster/fleet"
	"airgap.dev/airgap/cluster/fleet/choice"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/alike"
	"airgap.dev/airgap/internal/hostrange"
	"airgap.dev/airgap/internal/outlier"
	"airgap.dev/airgap/internal/ui"
)

// AllHosts has the state of each host of airgap.yaml.
type AllHosts struct {
	Hosts   []HostStatus    `json:"hosts"`
	LeftOut []fleet.LeftOut `json:"leftOut,omitempty"`
}

// HostStatus is the state of one host.
type HostStatus struct {
	Host   string  `json:"host"`
	Status *Status `json:"status,omitempty"`
	Error  string  `json:"error,omitempty"` // why there is no status

	address string
}

// ReadAll reads the state of this host, and of the other hosts through SSH.
func ReadAll(ctx context.Context, keys []string, node string, c choice.Choice, console ui.Console) (*AllHosts, error) {
	s, err := site.Stored(keys, node)
	if err != nil {
		return nil, err
	}
	if err := fleet.CheckChoice(ctx, s, c, false); err != nil {
		return nil, err
	}
	f, err := fleet.Connect(ctx, s, nil, fleet.Options{Console: console, Partial: true, Choice: c})
	if err != nil {
		return nil, err
	}
	if f == nil {
		return nil, advice.Add(errors.New("read the status of all hosts: airgap.yaml has no section ssh, or no other host"), "run airgap status on each host")
	}
	defer f.Close()
	all := &AllHosts{Hosts: []HostStatus{{Host: s.Node.Name, Status: Read(ctx, keys, node)}}}
	for _, a := range f.Ask(ctx, "status") {
		h := HostStatus{Host: a.Host, Status: &Status{}, address: addressOf(s, a.Host)}
		if err := a.Read(h.Status); err != nil {
			h.Status, h.Error = nil, err.Error()
		}
		all.Hosts = append(all.Hosts, h)
	}
	all.LeftOut = f.Policy.LeftOut()
	return all, ctx.Err()
}

// addressOf returns the address of a node of airgap.yaml; "" if it has none.
func addressOf(s *site.Site, name string) string {
	for _, n := range s.Nodes {
		if n.Name == name {
			return n.Address
		}
	}
	return ""
}

// Write writes what the hosts say, equal hosts together, and the hosts that differ from most others.
func (a *AllHosts) Write(w io.Writer) error {
	var good, bad []alike.Said
	var hosts []outlier.Host
	for _, h := range a.Hosts {
		if h.Status == nil {
			bad = append(bad, h.says("unknown: "+h.Error))
			continue
		}
		hosts = append(hosts, outlier.Host{Name: h.Host, Traits: h.Status.traits()})
		if says := h.Status.findings(); says == "" {
			good = append(good, h.says(h.Status.Conclusion))
		} else {
			bad = append(bad, h.says(says))
		}
	}
	if err := outlier.Write(w, outlier.Find(hosts)); err != nil {
		return err
	}
	fleet.WriteLeftOut(w, a.LeftOut)
	var err error
	for _, said := range [][]alike.Said{good, bad} { // findings last: a terminal shows the end
		for _, g := range alike.InOrder(said) {
			_, err = fmt.Fprintf(w, "%s (%d of %d)\n  %s\n", hostrange.Join(g.Hosts), len(g.Hosts), len(a.Hosts), strings.ReplaceAll(g.Text, "\n", "\n  "))
		}
	}
	return err
}

// says is a text of the host.
func (h HostStatus) says(text string) alike.Said {
	return alike.Said{Host: h.Host, Address: h.address, Text: text}
}

// findings is the conclusion of a host that needs attention, with its problems and next actions; "" for others.
func (st *Status) findings() string {
	pending := slices.ContainsFunc(st.Steps, func(s stepStatus) bool { return s.State == stepPending })
	if !st.unwell() && !pending && len(st.Next) == 0 && len(st.Steps) > 0 && st.Conclusion != "" {
		return ""
	}
	lines := []string{cmp.Or(st.Conclusion, "its airgap is too old for --all-hosts: run airgap status there")}
	for _, p := range st.Problems {
		lines = append(lines, "problem: "+p)
	}
	for _, n := range st.Next {
		lines = append(lines, "next: "+n)
	}
	return strings.Join(lines, "\n")
}

// traits are the properties in which the hosts of a cluster should agree.
func (st *Status) traits() []outlier.Trait {
	all := []outlier.Trait{{Name: "operating system", Value: st.System}, {Name: "kernel", Value: st.Kernel}, {Name: "airgap", Value: st.Program}}
	if st.Bundle != nil {
		all = append(all, outlier.Trait{Name: "bundle", Value: st.Bundle.Name + " of " + st.Bundle.Created})
	}
	var known []outlier.Trait
	for _, t := range all {
		if t.Value != "" {
			known = append(known, t)
		}
	}
	return append(known, st.Traits...) // a name that is in both counts once
}
