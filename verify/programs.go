package verify

import "airgap.dev/airgap/verify/nodereport"

// programsRun finds services that were not restarted after an update of airgap.rpm.
func programsRun() rule {
	programs := part{name: "programs", in: func(r nodereport.Report) bool { return r.Programs != nil }}
	return reported("programs", "airgap services run the installed version", programs, func(host string, r nodereport.Report) []Finding {
		var findings []Finding
		for _, runs := range []struct{ unit, version string }{
			{nodereport.UnitName, r.Program}, {"airgap-registry.service", r.Programs.Registry}, {"airgap-join-approver.service", r.Programs.Approver},
		} {
			if runs.version != "" && runs.version != r.Programs.Installed {
				findings = append(findings, Finding{
					Object: "Node " + host + ", " + runs.unit, Saw: "it runs airgap version " + runs.version, Want: r.Programs.Installed + ", the installed version",
					Fix: "on " + host + ": systemctl restart " + runs.unit,
				})
			}
		}
		return findings
	})
}
