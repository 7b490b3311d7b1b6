package verify

import (
	corev1 "k8s.io/api/core/v1"

	"airgap.dev/airgap/verify/nodereport"
)

// expectingOf wants a part of the report of each of these nodes. A host with an airgap that does
// not report the part yet, as in an upgrade, is not asked for it: one version of airgap reports
// the same parts everywhere, so those hosts are known by their version.
func expectingOf(part string, of func(*corev1.Node) bool, has func(nodereport.Report) bool) func(view) expectation {
	return func(v view) expectation {
		knows := map[string]bool{} // versions of airgap
		for _, r := range all[*keptReport](v, nodeReports) {
			if has(r.report) {
				knows[r.report.Program] = true
			}
		}
		if len(knows) == 0 {
			return expectation{nothing: "no host reports " + part}
		}
		var lacking []string
		for _, n := range v.allNodes() {
			r := get[*keptReport](v, nodeReports, "", n.Name)
			if of(n) && (r == nil || !has(r.report) && knows[r.report.Program]) {
				lacking = append(lacking, n.Name)
			}
		}
		if len(lacking) == 0 {
			return expectation{}
		}
		return expectation{missing: some(lacking) + " does not report " + part}
	}
}
