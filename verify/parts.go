package verify

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"airgap.dev/airgap/verify/nodereport"
)

// part is one part of a NodeReport that a rule reads.
type part struct {
	name string // in JSON
	// in tells whether the report has it; nil: a host may have nothing to say there.
	in func(nodereport.Report) bool
	// newer: an older airgap does not report it. In the middle of an upgrade some hosts have
	// that one; all hosts with one version of airgap report the same parts.
	newer bool
}

// reportFix is where to look when a host does not report, or not all.
const reportFix = "on HOST: systemctl status airgap-node-report; journalctl -u airgap-node-report"

// freshReports are those that came in lately: a stale one is no evidence of anything.
func (v view) freshReports() []*keptReport {
	return slices.DeleteFunc(all[*keptReport](v, nodeReports), func(r *keptReport) bool { return v.reportLack(r) != (lack{}) })
}

// reportsWith are the fresh ones that have a part.
func (v view) reportsWith(p part) []*keptReport {
	return slices.DeleteFunc(v.freshReports(), func(r *keptReport) bool { return p.lacking(r.report) != (lack{}) })
}

// reportLack says why a report is no evidence.
func (v view) reportLack(r *keptReport) lack {
	if r == nil {
		return lack{"no NodeReport", reportFix}
	}
	silent, known := v.silence(reportOf(r.name), r.report.Heartbeat.Time)
	switch {
	case silent > staleAfter:
		return lack{"no new NodeReport for more than " + staleAfter.String(), reportFix}
	case known:
		return lack{}
	}
	if l := undated(v, leaseOf(r.name)); l != (lack{}) {
		return l
	}
	return v.unheard("NodeReport", reportOf(r.name), r.report.Heartbeat.Time)
}

// lacking says why a report has nothing to say about the part.
func (p part) lacking(r nodereport.Report) lack {
	if i := slices.IndexFunc(r.Unknown, func(u nodereport.Unknown) bool { return u.Part == p.name }); i >= 0 {
		return lack{fmt.Sprintf("%s could not be looked at (%s)", p.name, r.Unknown[i].Reason), reportFix}
	}
	if p.in != nil && !p.in(r) {
		return lack{"the NodeReport does not have " + p.name, "on HOST: systemctl restart airgap-node-report, since an older airgap reports less; journalctl -u airgap-node-report"}
	}
	return lack{}
}

// expectPart expects of each host a fresh report with the part.
func (v view) expectPart(p part) expectation {
	return v.expectPartOf(func(*corev1.Node) bool { return true }, p)
}

// expectPartOf asks only some hosts for it.
func (v view) expectPartOf(asked func(*corev1.Node) bool, p part) expectation {
	if !v.site.reports && !v.has(nodeReports) {
		return expectation{nothing: "no host of this cluster reports what only it knows: it is not airgap's", fix: "airgap verify on a control-plane host"}
	}
	report := v.versionsThatReport(p)
	if p.newer && len(report) == 0 {
		return expectation{nothing: "no host reports " + p.name + ": an older airgap runs there", fix: "airgap upgrade"}
	}
	return v.each(func(n *corev1.Node) lack {
		if !asked(n) {
			return lack{}
		}
		r := get[*keptReport](v, nodeReports, "", n.Name)
		if l := v.reportLack(r); l != (lack{}) {
			return l
		}
		if p.newer && !report[r.report.Program] {
			return lack{}
		}
		return p.lacking(r.report)
	})
}

// versionsThatReport are those of airgap on hosts whose report has the part.
func (v view) versionsThatReport(p part) map[string]bool {
	versions := map[string]bool{}
	for _, r := range all[*keptReport](v, nodeReports) {
		if p.in == nil || p.in(r.report) {
			versions[r.report.Program] = true
		}
	}
	return versions
}
