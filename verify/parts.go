package verify

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"airgap.dev/airgap/verify/nodereport"
)

// part is a part of a NodeReport that a rule reads.
type part struct {
	name string // in JSON
	// in reports whether the report has it; nil: it may be empty.
	in func(nodereport.Report) bool
	// newer: an older airgap does not report it. During an upgrade some hosts still run that
	// airgap; all hosts with the same version report the same parts.
	newer bool
}

// reportFix is where to look if a report is missing or incomplete.
const reportFix = "on HOST: systemctl status airgap-node-report; journalctl -u airgap-node-report"

// freshReports returns the recent reports: a stale report is no evidence.
func (v view) freshReports() []*keptReport {
	return slices.DeleteFunc(all[*keptReport](v, nodeReports), func(r *keptReport) bool { return v.reportAbsence(r) != (absence{}) })
}

// reportsWith returns the fresh reports that have a part.
func (v view) reportsWith(p part) []*keptReport {
	return slices.DeleteFunc(v.freshReports(), func(r *keptReport) bool { return p.absenceIn(r.report) != (absence{}) })
}

// reportAbsence returns why a report is no evidence.
func (v view) reportAbsence(r *keptReport) absence {
	if r == nil {
		return absence{"no NodeReport", reportFix}
	}
	last, known := v.lastSent(reportOf(r.name), r.report.Heartbeat.Time)
	switch {
	case v.now.Sub(last) > staleAfter: // even if the API server has confirmed nothing since
		return absence{"no new NodeReport for more than " + staleAfter.String(), reportFix}
	case known:
		return absence{}
	}
	if l := undated(v, leaseOf(r.name)); l != (absence{}) {
		return l
	}
	return v.noHeartbeat("NodeReport", reportOf(r.name), r.report.Heartbeat.Time)
}

// absenceIn returns why a report does not have the part.
func (p part) absenceIn(r nodereport.Report) absence {
	if i := slices.IndexFunc(r.Unknown, func(u nodereport.Unknown) bool { return u.Part == p.name }); i >= 0 {
		return absence{fmt.Sprintf("%s could not be checked (%s)", p.name, r.Unknown[i].Reason), reportFix}
	}
	if p.in != nil && !p.in(r) {
		return absence{"the NodeReport does not contain " + p.name, "on HOST: systemctl restart airgap-node-report (an older airgap reports less); journalctl -u airgap-node-report"}
	}
	return absence{}
}

// expectPart expects a fresh report with the part from each host.
func (v view) expectPart(p part) expectation {
	return v.expectPartOf(func(*corev1.Node) bool { return true }, p)
}

// expectPartOf expects it from some hosts only.
func (v view) expectPartOf(asked func(*corev1.Node) bool, p part) expectation {
	if !v.site.reports && !v.has(nodeReports) {
		return expectation{nothing: "the hosts of this cluster send no NodeReports: airgap did not install it", fix: "run airgap verify on a control-plane host"}
	}
	report := v.versionsThatReport(p)
	if p.newer && len(report) == 0 {
		return expectation{nothing: "no host reports " + p.name + ": the hosts run an older airgap", fix: "airgap upgrade"}
	}
	return v.each(func(n *corev1.Node) absence {
		if !asked(n) {
			return absence{}
		}
		r := get[*keptReport](v, nodeReports, "", n.Name)
		if l := v.reportAbsence(r); l != (absence{}) {
			return l
		}
		if p.newer && !report[r.report.Program] {
			return absence{}
		}
		return p.absenceIn(r.report)
	})
}

// versionsThatReport returns the airgap versions of the hosts that report the part.
func (v view) versionsThatReport(p part) map[string]bool {
	versions := map[string]bool{}
	for _, r := range all[*keptReport](v, nodeReports) {
		if p.in == nil || p.in(r.report) {
			versions[r.report.Program] = true
		}
	}
	return versions
}
