package main

import (
	"io"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/service"
	"airgap.dev/airgap/internal/output"
)

// nodeReportCommand is what airgap-node-report.service runs.
func nodeReportCommand(a *app) *cobra.Command {
	var once bool
	cmd := &cobra.Command{
		Use: "node-report", Short: "Tell the cluster what only this host knows", Hidden: true, Args: noArgs,
		Long: `Looks at what no other host can see: what runtime and kubelet effectively use,
pinned images, packages, links, kernel parameters, registries, clock, certificates,
free space, etcd, the API server, cards; and keeps it in the cluster as the NodeReport of this node, with the
kubelet's own identity, until it is ended. airgap-node-report.service runs it on
every host; kubectl get nodereports shows what they say.

With --once it looks one time and prints what it would write. Nothing is written,
and no cluster is needed.`,
		Example: "  airgap node-report --once --output json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !once {
				return service.Report(cmd.Context(), a.say)
			}
			report, err := service.ReportOnce(cmd.Context())
			if err != nil {
				return err
			}
			return a.print(report, func(w io.Writer) error { return output.YAML(w, report) })
		},
	}
	cmd.Flags().BoolVar(&once, "once", false, "print the report once, and write nothing")
	return cmd
}
