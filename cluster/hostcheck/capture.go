package hostcheck

import (
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/preflight/netprobe"
)

// addCaptures adds the packets of the findings to the results of their checks, each below the text of its finding.
func addCaptures(r *preflight.Report, findings []netprobe.Finding) {
	captures := map[string][]string{}
	for _, f := range findings {
		lines := f.Capture
		if f.NoCapture != "" {
			lines = []string{f.NoCapture}
		}
		if id := checkOf(f.About); len(lines) > 0 {
			captures[id] = append(append(captures[id], f.What+":"), lines...)
		}
	}
	for i := range r.Results {
		if e := &r.Results[i]; e.Troubled() {
			e.Capture = captures[e.ID]
		}
	}
}
