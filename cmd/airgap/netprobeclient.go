package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/measure"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/exitcode"
)

func netprobeClientCommand(a *app) *cobra.Command {
	var o measure.ClientOptions
	cmd := &cobra.Command{
		Use:   "client ADDRESS[:PORT]",
		Short: "Test the way from a user's machine to the API, an ingress and NodePorts",
		Long: `Test the way from this machine to the API of a cluster at ADDRESS, which is
kubernetes.controlPlaneEndpoint. The port is 6443 unless ADDRESS has one. The tests are the
name, TCP connections, a TLS handshake of today's size, an answer to a request, and 64 KiB
of data. --ingress and --node-port add servers of applications.

--idle keeps one connection to the API without a packet for that time, and then uses it.
So a user sees whether load balancers and firewalls forget idle connections.

The command runs on any Linux machine, also without root, and requires no bundle and no
credentials. It shows the certificate of a server and does not check its CA. If a certificate
has no DNS name and no IP address, or is not for server authentication, clients refuse it. Then
the tests of this server stop after the handshake.

The exit code is 3 if a test failed.`,
		Example: "  airgap netprobe client k8s.bank.example\n  airgap netprobe client k8s.bank.example:6443 --ingress apps.bank.example --node-port 10.20.0.21:30080\n  airgap netprobe client k8s.bank.example --idle 30m",
		Args:    oneArg("the address of the API, as in kubernetes.controlPlaneEndpoint"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Address, o.Console = args[0], a.terminal()
			r, err := measure.Client(cmd.Context(), o)
			if err := a.finish(r, err); err != nil {
				return err
			}
			if !r.Passed() {
				return advice.Add(&exitError{exitcode.Preflight, errPrinted}, "give the failed tests and their fixes to the named teams, then run the same command again")
			}
			return nil
		},
	}
	cmd.Flags().StringSliceVar(&o.Ingress, "ingress", nil, "HOST or HOST:PORT of an ingress, default port 443; can be repeated")
	cmd.Flags().StringSliceVar(&o.NodePorts, "node-port", nil, "HOST:PORT of a NodePort; can be repeated")
	cmd.Flags().DurationVar(&o.Idle, "idle", 0, "time without a packet on a connection to the API, at most 24h")
	return cmd
}
