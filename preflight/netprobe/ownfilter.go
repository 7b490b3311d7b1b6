package netprobe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/preflight/packetfilter"
)

// Closed is a kind of packet that arrived at a host's interface and not at its programs.
type Closed struct {
	From int  `json:"from"`
	Kind Kind `json:"kind"`
	Port int  `json:"port"`
	// Rule is the rule of the host's packet filter that stops the packet; "" if no rule does.
	Rule string `json:"rule,omitempty"`
	// Opens is true if firewalld runs, and the rules that the installation adds to it come before Rule.
	Opens bool `json:"opens,omitempty"`
}

const filterTimeout = 10 * time.Second

// maxRuleText is the number of characters of a rule in a finding.
const maxRuleText = 300

// explainClosed finds the rules of this host that stop packets of the measurement. It reads the packet
// filter only if packets arrived at the interface and not at a socket.
func (a *agent) explainClosed(ctx context.Context) {
	closed := a.report.unreceived()
	if len(closed) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, filterTimeout)
	defer cancel()
	ifi, _, err := ownInterface(a.plan.self())
	if err != nil {
		return
	}
	m := host.Machine{Host: host.Local{}}
	rules, err := packetfilter.Kernel(func(name string, args ...string) (string, error) {
		out, err := m.Host.Run(ctx, host.Cmd{Name: name, Args: args})
		return string(out), err
	})
	firewalld, errUnit := m.UnitIs(ctx, "is-active", "firewalld")
	err = errors.Join(err, errUnit)
	for i := range closed {
		c := &closed[i]
		if err != nil {
			c.Rule = fmt.Sprintf("unknown: read the packet filter: %v", err)
			continue
		}
		protocol := "udp"
		if c.Kind == TCP {
			protocol = "tcp"
		}
		end := rules.End(packetfilter.Packet{From: a.plan.Hosts[c.From].Address, To: a.plan.self().Address, Protocol: protocol, Port: c.Port, Link: ifi.Name})
		c.Rule, c.Opens = end.Rule, end.Opens && firewalld
	}
	a.report.mu.Lock()
	defer a.report.mu.Unlock()
	a.report.Closed = closed
}

// unreceived returns the packets that arrived at the interface and not at a socket. A port that another
// program uses is not among them, because that program received its packets.
func (r *Report) unreceived() []Closed {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []Closed
	for _, seen := range r.Observations {
		kind, known := map[Kind]Kind{TCP: TCP, UDP: UDP, VXLANPing: VXLANUDP}[seen.Kind]
		if !known || seen.Layer != AtInterface {
			continue
		}
		received := slices.ContainsFunc(r.Observations, func(s Observation) bool {
			return s.From == seen.From && s.Kind == kind && s.Port == seen.Port && s.Layer == AtSocket
		})
		other := slices.ContainsFunc(r.ListenErrors, func(e ListenError) bool { return e.Kind == seen.Kind && e.Port == seen.Port })
		c := Closed{From: seen.From, Kind: seen.Kind, Port: seen.Port}
		if !received && !other && !slices.Contains(found, c) {
			found = append(found, c)
		}
	}
	return found
}

// explained adds the rule to the results of ports that the other host closes. The text comes from the
// other host, so it is short and has no control characters.
func (p pair) explained(all []Verdict) []Verdict {
	for i := range all {
		v := &all[i]
		if v.State != HostCloses {
			continue
		}
		kind := v.Kind
		if kind == VXLANTCP {
			kind = VXLANPing
		}
		for _, c := range p.at.Closed {
			if c.From == p.from.Self && c.Kind == kind && c.Port == v.Port {
				v.Rule, v.Opens = plain(c.Rule), c.Opens
			}
		}
	}
	return all
}

func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	if runes := []rune(text); len(runes) > maxRuleText {
		return string(runes[:maxRuleText]) + "..."
	}
	return text
}

// closedByHost completes the finding about packets that the receiving host's own firewall stops. The
// installation opens only firewalld, and only with rules of its zones.
func (g group) closedByHost(f Finding, name string, needed bool, n Needs, in Language) Finding {
	f.Owner, f.What = "hosts", name+" arrives, but the host's own firewall blocks it"
	switch {
	case g.opens && n.OpensFirewall:
		f.Severity, f.Fix = Notes, "no action is needed: the installation opens it in firewalld, and checks it again"
		return f
	case g.opens:
		f.What += ": firewalld"
	case g.stops == "":
		f.What += ", and no rule of its packet filter explains this"
	default:
		f.What += ": " + g.stops
	}
	switch {
	case !needed:
	case g.opens:
		f.Fix = "allow " + g.rule(in) + " on the receiving hosts"
	case g.stops == "":
		f.Fix = "find the program that stops the packets (a security agent, XDP, sysctl net.ipv4.conf.all.rp_filter) and allow " + g.rule(in) + "; the installation opens only firewalld"
	default:
		f.Fix = "allow " + g.rule(in) + " before this rule on the receiving hosts, or remove the rule; the installation does not change it"
	}
	return f
}
