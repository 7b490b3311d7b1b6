// Package netfaults breaks networks between hosts in seventy ways. airgap netprobe must name
// each fault: the packets, the hosts and the team. On networks without a fault it must be silent.
package netfaults

import (
	"fmt"
	"html"
	"regexp"
	"strings"

	"airgap.dev/airgap/e2e/lab"
)

// Fault is a way to break a network, with the findings that must name it.
type Fault struct {
	Name string
	On   lab.Plan
	Make []change
	// Check is the check of airgap preflight on each host that must name the fault; "" for airgap
	// netprobe between the hosts.
	Check string
	Says  []Finding // none for a network without a fault
}

// Finding is a finding that must be reported. Texts are regular expressions.
type Finding struct {
	Status string // "fail", "warn", or "note": a line of a check that passes
	Owner  team   // none for a note
	What   string
	Where  string // in the same line
	Never  string // not in the same line: the other direction
}

// Severities of a finding.
const (
	stops = "fail"
	warns = "warn"
	notes = "note"

	matters = "warn or fail"
)

// team is the team that must be named, as in the line of the finding.
type team string

// The teams.
const (
	networkTeam    team = "network team"
	hostTeam       team = "host team"
	balancerTeam   team = "load balancer team"
	dnsTeam        team = "DNS team"
	hypervisorTeam team = "hypervisor team"
)

// namedIn reports whether a line of a check names exactly this team.
func (o team) namedIn(line string) bool { return strings.HasSuffix(line, "(owner: "+string(o)+")") }

// onPage reports whether the page for the network administrators has the findings of the team.
func (o team) onPage() bool { return o == networkTeam || o == balancerTeam }

// from matches the way between two hosts in one direction, and excludes the other direction.
func (f Finding) from(sender, receiver int) Finding {
	f.Where, f.Never = way(sender, receiver), way(receiver, sender)
	return f
}

// at matches hosts without a direction.
func (f Finding) at(hosts ...int) Finding {
	var all []string
	for _, h := range hosts {
		all = append(all, lab.Node(h)+` `)
	}
	f.Where = strings.Join(all, ".*")
	return f
}

func way(sender, receiver int) string {
	return fmt.Sprintf(`from [^;]*%s [^;]* to [^;]*%s `, lab.Node(sender), lab.Node(receiver))
}

// everywhere is the place of a fault on all ways.
const everywhere = "between all hosts"

// missing returns the findings that the measurement does not contain, and named the lines of the others.
func (f Fault) missing(m *lab.Measurement) (missing []Finding, named []string) {
	for _, want := range f.Says {
		if line, is := want.in(m); is {
			named = append(named, line)
		} else {
			missing = append(missing, want)
		}
	}
	return missing, named
}

// in returns the line with the finding, if the measurement contains it.
func (f Finding) in(m *lab.Measurement) (string, bool) {
	what, where := regexp.MustCompile("(?i)"+f.What), regexp.MustCompile(f.Where)
	for _, r := range m.Results {
		if !f.has(r.Status) {
			continue
		}
		for line := range strings.SplitSeq(r.Found, "\n") {
			if !what.MatchString(line) || !where.MatchString(line) || f.Never != "" && regexp.MustCompile(f.Never).MatchString(line) {
				continue
			}
			if f.Status == notes || f.Owner.namedIn(line) && f.onPage(m, what) == f.Owner.onPage() {
				return lineOf(r, line), true
			}
		}
	}
	return "", false
}

func lineOf(r lab.Result, line string) string { return r.Status + " " + r.ID + ": " + line }

// has reports whether the finding may have the status of a check.
func (f Finding) has(status string) bool {
	serious := status == stops || status == warns
	switch f.Status {
	case notes:
		return !serious
	case matters:
		return serious
	default:
		return status == f.Status
	}
}

// onPage reports whether the page for the network administrators asks for a change.
func (f Finding) onPage(m *lab.Measurement, what *regexp.Regexp) bool {
	_, changes, _ := strings.Cut(html.UnescapeString(m.Page), "<h2>Required changes</h2>")
	changes, _, _ = strings.Cut(changes, "<h2>")
	return what.MatchString(changes)
}

// said returns all failures and warnings as lines.
func said(m *lab.Measurement) []string {
	var all []string
	for _, r := range m.Results {
		if r.Status != stops && r.Status != warns {
			continue
		}
		for line := range strings.SplitSeq(r.Found, "\n") {
			all = append(all, lineOf(r, line))
		}
	}
	return all
}
