package main

import (
	"time"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/measure"
	"airgap.dev/airgap/cluster/site"
)

func netprobeCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "netprobe",
		Short: "Measure the network between the servers",
		Long: `Measure the network between all servers of airgap.yaml before an installation: TCP and
UDP ports, protocol 4, packets of each size, a real VXLAN, and clocks. If the pod network
can work without a tunnel, it also sends a few packets with pod addresses. The servers
require airgap.rpm; nothing else on them is changed.

With SSH between the servers, airgap preflight --all-hosts and airgap install install
airgap.rpm and measure automatically. Without SSH, use two commands:

  first server     airgap netprobe listen DIR       shows a one-time code, and waits for the others
  other servers    airgap netprobe join ADDRESS     asks for the code

The first server shows the result. airgap netprobe page writes the network requirements in
advance, for the network team. airgap netprobe client tests the way of the users to a running
cluster.`,
		Example: "  airgap netprobe page -f airgap.yaml --output html > network.html\n  airgap netprobe listen /mnt/stick/bank\n  airgap netprobe join 10.20.0.11",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(netprobePageCommand(a), netprobeListenCommand(a), netprobeJoinCommand(a), netprobeClientCommand(a), netprobeAgentCommand(a))
	return cmd
}

func netprobeListenCommand(a *app) *cobra.Command {
	var o measure.ListenOptions
	cmd := &cobra.Command{
		Use:   "listen DIR",
		Short: "Wait for the other servers, measure the network, and show the result",
		Long: `Show a one-time code for the other servers. Wait until all servers of airgap.yaml have
joined, or until --wait has passed. Then all servers measure at the same time. DIR is the
directory of the bundle.

With network.encapsulation: auto, without a cluster and without a failure, the selected
port and packet size are stored in ` + site.MeasuredFile + ` on this server.
airgap install uses them, unless it measures through SSH itself.

The exit code is 3 if the cluster would fail on this network.`,
		Example: "  airgap netprobe listen /mnt/stick/bank\n  airgap netprobe listen /mnt/stick/bank --output html > network.html",
		Args:    oneArg("the directory of the bundle"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkPage(cmd, &o.Page); err != nil {
				return err
			}
			o.Dir, o.Console = args[0], a.terminal()
			return a.finishPreflight(measure.Listen(cmd.Context(), o))
		},
	}
	keyFlags(cmd, &o.Keys)
	cmd.Flags().StringVar(&o.Node, "node", "", "name of this host in airgap.yaml; default: by its addresses")
	cmd.Flags().IntVar(&o.Port, "port", measure.MeetingPort, "TCP port to listen on")
	cmd.Flags().DurationVar(&o.Wait, "wait", 10*time.Minute, "maximum time to wait for the other servers")
	pageFlags(cmd, &o.Page)
	return withFormats(cmd, asText, asJSON, asYAML, asJUnit, asHTML)
}

func netprobeJoinCommand(a *app) *cobra.Command {
	var o measure.JoinOptions
	cmd := &cobra.Command{
		Use:   "join ADDRESS[:PORT]",
		Short: "Take part in the network measurement of the server at ADDRESS",
		Long: `Take part in the measurement that airgap netprobe listen runs on the server at ADDRESS.
The command asks for the one-time code from there, waits for all servers, measures to and
from each of them, and sends its results. The server at ADDRESS shows the result.

Nothing on this server is changed. It requires airgap.rpm and no bundle.`,
		Example: "  airgap netprobe join 10.20.0.11\n  airgap netprobe join 10.20.0.11 --code-file /run/code",
		Args:    oneArg("the address that airgap netprobe listen shows"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Address, o.Console = args[0], a.terminal()
			return measure.Join(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.CodeFile, "code-file", "", "file with the one-time code; default: prompt, or standard input if it is not a terminal")
	return cmd
}

// netprobeAgentCommand measures on each host. Its caller controls it through standard input.
func netprobeAgentCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "agent", Short: "Measure the network as requested on standard input", Hidden: true, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return measure.Agent(cmd.Context(), a.stdin, a.stdout) },
	}
}
