package hostcheck

import (
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/preflight/netprobe"
)

// addCaptures adds the packets of the findings to the results of their checks, each below the text of its finding.
func addCaptures(r *preflight.Report, findings []netprobe.Finding) {
	checks := map[netprobe.About]string{
		netprobe.AboutPorts: preflight.PortsReach, netprobe.AboutVXLAN: preflight.VXLANPath, netprobe.AboutSize: preflight.PathMTU,
		netprobe.AboutPaths: preflight.PathQuality, netprobe.AboutLatency: preflight.EtcdLatency, netprobe.AboutDuplicates: preflight.Duplicates,
		netprobe.AboutVIP: preflight.LoadBalancer, netprobe.AboutIdle: preflight.LoadBalancerIdle,
	}
	captures := map[string][]string{}
	for _, f := range findings {
		lines := f.Capture
		if f.NoCapture != "" {
			lines = []string{f.NoCapture}
		}
		if id := checks[f.About]; id != "" && len(lines) > 0 {
			captures[id] = append(append(captures[id], f.What+":"), lines...)
		}
	}
	for i := range r.Results {
		if e := &r.Results[i]; e.Status == preflight.Fail || e.Status == preflight.Warn {
			e.Capture = captures[e.ID]
		}
	}
}
