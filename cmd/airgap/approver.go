package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/service"
)

// joinApproverCommand is run by airgap-join-approver.service.
func joinApproverCommand(a *app) *cobra.Command {
	var credential bool
	cmd := &cobra.Command{
		Use: "join-approver", Short: "Approve certificate requests of joining hosts", Hidden: true, Args: noArgs,
		Long: `Approve or refuse the certificate requests of joining hosts. A join token gets one
certificate, for the node that it was created for.

airgap-join-approver.service runs this command on every control-plane host.
journalctl -u airgap-join-approver shows each approval, and each refusal with its reason.

--credential creates, as root, the certificate that the service uses.`,
		Example: "  journalctl -u airgap-join-approver",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if credential {
				return service.WriteCredential()
			}
			return service.Approve(cmd.Context(), a.say)
		},
	}
	cmd.Flags().BoolVar(&credential, "credential", false, "only create the certificate, which is valid for one day")
	return cmd
}
