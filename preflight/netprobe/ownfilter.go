package netprobe

import (
	"strings"
	"unicode"
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

// maxRuleText is the number of characters of a rule in a finding.
const maxRuleText = 300

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
	f.Owner, f.What = HostTeam, name+" arrives, but the host's own firewall blocks it"
	if g.reverse {
		return g.closedByReversePath(f, needed)
	}
	switch {
	case g.opens && n.OpensFirewall:
		f.Severity, f.Fix = Notes, "no action is needed: the installation opens it in firewalld, and reads the rules of the host again"
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
		f.Fix = "find the program that stops the packets (a security agent, XDP) and allow " + g.rule(in) + "; the installation opens only firewalld"
	default:
		f.Fix = "allow " + g.rule(in) + " before this rule on the receiving hosts, or remove the rule; the installation does not change it"
	}
	return f
}
