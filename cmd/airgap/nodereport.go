package main

import (
	"io"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/service"
	"airgap.dev/airgap/internal/output"
)

// nodeReportCommand is run by airgap-node-report.service.
func nodeReportCommand(a *app) *cobra.Command {
	var once bool
	cmd := &cobra.Command{
		Use: "node-report", Short: "Report the state of this host to the cluster", Hidden: true, Args: noArgs,
		Long: `Observe the state that only this host knows: the effective settings of container runtime
and kubelet, pinned images, packages, links with their bonds and errors, connection
tracking, kernel parameters, registries, clock, certificates, free space, etcd, the API
server, GPUs. Write it to the NodeReport of this node, with the identity of the kubelet,
until the command is stopped.

airgap-node-report.service runs this command on every host. kubectl get nodereports shows
the reports.

--once observes once and prints the report. Nothing is written, and no cluster is
required.`,
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
	cmd.Flags().BoolVar(&once, "once", false, "print the report once and write nothing")
	return cmd
}
