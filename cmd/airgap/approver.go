package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/service"
)

// joinApproverCommand is what airgap-join-approver.service runs.
func joinApproverCommand(a *app) *cobra.Command {
	var credential bool
	cmd := &cobra.Command{
		Use: "join-approver", Short: "Decide which node a join token admits", Hidden: true, Args: noArgs,
		Long: `Decides about the certificates that joining hosts request: a join token gets one,
once, of the node that it was made for. airgap-join-approver.service runs it on every
control-plane host; journalctl -u airgap-join-approver shows what was approved, and
what was refused, with the reason.

With --credential it makes, as root, the certificate that it then runs with.`,
		Example: "  journalctl -u airgap-join-approver",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if credential {
				return service.WriteCredential()
			}
			return service.Approve(cmd.Context(), a.say)
		},
	}
	cmd.Flags().BoolVar(&credential, "credential", false, "only make the certificate, for a day")
	return cmd
}
