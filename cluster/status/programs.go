package status

import (
	"context"
	"fmt"

	"airgap.dev/airgap/cluster/report"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/verify/nodereport"
)

// tellOutdated names services that an update of airgap.rpm did not restart.
func (st *Status) tellOutdated() {
	for _, r := range st.Running {
		if r.Version != st.Program {
			st.Problems = append(st.Problems, fmt.Sprintf("%s runs airgap version %s, installed is %s: systemctl restart %s", r.Unit, r.Version, st.Program, r.Unit))
		}
	}
}

// reportingVersion returns the version of the process that writes this host's report; "" if it
// is unknown.
func reportingVersion(ctx context.Context) string {
	settings, err := host.ReadJSON[report.Settings](site.ReportFile)
	if err != nil || settings.Node == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	client, _, err := settings.Client()
	if err != nil {
		return ""
	}
	report, err := nodereport.Read(ctx, client, settings.Node)
	if err != nil {
		return ""
	}
	return report.Report.Program
}
