package netprobe

import (
	"slices"
)

// ClosedBy reports whether the host's own firewall closed a port that the installation opens. m can be
// nil.
func (m *Matrix) ClosedBy(host int) bool {
	return m != nil && slices.ContainsFunc(m.Verdicts, func(v Verdict) bool { return v.To == host && v.State == HostCloses && v.Opens })
}

// StillClosed returns the findings about required ports that the hosts' own firewalls close after the
// installation has opened them.
func (m *Matrix) StillClosed(hosts []int, n Needs) []Finding {
	closed := *m
	closed.Verdicts = slices.DeleteFunc(slices.Clone(m.Verdicts), func(v Verdict) bool { return v.State != HostCloses || !slices.Contains(hosts, v.To) })
	n.OpensFirewall = false
	return slices.DeleteFunc(closed.closed(n), func(f Finding) bool { return f.Severity != Stops })
}
