package hostcheck

import (
	"slices"

	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/preflight/netprobe"
)

// checkOf is the check that reports the findings about a topic.
func checkOf(about netprobe.About) string {
	return map[netprobe.About]string{
		netprobe.AboutReports: preflight.Measured, netprobe.AboutPorts: preflight.PortsReach, netprobe.AboutVXLAN: preflight.VXLANPath,
		netprobe.AboutSize: preflight.PathMTU, netprobe.AboutPaths: preflight.PathQuality, netprobe.AboutLatency: preflight.EtcdLatency,
		netprobe.AboutIPIP: preflight.IPIP, netprobe.AboutVIP: preflight.LoadBalancer, netprobe.AboutIdle: preflight.LoadBalancerIdle,
		netprobe.AboutClocks: preflight.ClockSkew, netprobe.AboutDuplicates: preflight.Duplicates,
	}[about]
}

// addOwners adds the teams of the findings to the results of their checks, the team of the worst finding first.
func addOwners(r *preflight.Report, findings []netprobe.Finding) {
	owners := map[string][]string{}
	for _, f := range findings {
		id, team := checkOf(f.About), string(f.Owner)
		if f.Severity != netprobe.Notes && !slices.Contains(owners[id], team) {
			owners[id] = append(owners[id], team)
		}
	}
	for i := range r.Results {
		if e := &r.Results[i]; e.Troubled() {
			e.Owners = owners[e.ID]
		}
	}
}
