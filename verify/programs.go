package verify

import "airgap.dev/airgap/verify/nodereport"

// programsRun is about services that an update of airgap.rpm did not restart.
func programsRun() rule {
	return reported("programs", "airgap's services run the installed version", part{"programs", func(r nodereport.Report) bool { return r.Programs != nil }}, func(host string, r nodereport.Report) []Finding {
		var findings []Finding
		for _, runs := range []struct{ unit, version string }{
			{nodereport.UnitName, r.Program}, {"airgap-registry.service", r.Programs.Registry}, {"airgap-join-approver.service", r.Programs.Approver},
		} {
			if runs.version != "" && runs.version != r.Programs.Installed {
				findings = append(findings, Finding{
					Object: "Node " + host + ", " + runs.unit, Saw: "it runs airgap version " + runs.version, Want: r.Programs.Installed + ", which is installed",
					Fix: "on " + host + ": systemctl restart " + runs.unit,
				})
			}
		}
		return findings
	})
}
