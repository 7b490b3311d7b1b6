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
		Short: "Measure what the network between the servers lets through",
		Long: `Measures between all servers of airgap.yaml, before anything is installed: TCP
and UDP ports, protocol 4, packets of each size, a real VXLAN, clocks, and, where the
pod network may do without a tunnel, a few packets with pods' addresses. Nothing on a
server is changed but that airgap.rpm has to be there. With SSH between the servers
airgap preflight --all-hosts and airgap install bring it and measure by themselves;
without, two commands do:

  first server     airgap netprobe listen DIR       shows a code, and waits for the others
  other servers    airgap netprobe join ADDRESS     asks for the code

The verdict comes on the first server. airgap netprobe page says in advance what the
network has to carry, for its owners.`,
		Example: "  airgap netprobe page -f airgap.yaml --output html > network.html\n  airgap netprobe listen /media/stick/bank\n  airgap netprobe join 10.20.0.11",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(netprobePageCommand(a), netprobeListenCommand(a), netprobeJoinCommand(a), netprobeAgentCommand(a))
	return cmd
}

func netprobeListenCommand(a *app) *cobra.Command {
	var o measure.ListenOptions
	cmd := &cobra.Command{
		Use:   "listen DIR",
		Short: "Wait for the other servers, measure, and give the verdict",
		Long: `Shows a code for the other servers, waits until all of airgap.yaml have come, or
--wait is over, and has all of them measure at the same time. DIR is the bundle's
directory.

With network.encapsulation: auto, no cluster yet and no failure, what was chosen of
ports and sizes is kept on this server (` + site.MeasuredFile + `): airgap install takes it from
there, unless it measures through SSH itself.

Exit code 3 when the cluster would break on something.`,
		Example: "  airgap netprobe listen /media/stick/bank\n  airgap netprobe listen /media/stick/bank --output html > network.html",
		Args:    oneArg("the bundle's directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Dir, o.Console = args[0], a.terminal()
			return a.finishPreflight(measure.Listen(cmd.Context(), o))
		},
	}
	keyFlags(cmd, &o.Keys)
	cmd.Flags().StringVar(&o.Node, "node", "", "which node of airgap.yaml this host is; default: by its addresses")
	cmd.Flags().IntVar(&o.Port, "port", measure.MeetingPort, "TCP port at which this host waits")
	cmd.Flags().DurationVar(&o.Wait, "wait", 10*time.Minute, "how long to wait for the other servers")
	pageFlag(cmd, &o.Page)
	return gives(cmd, asText, asJSON, asYAML, asJUnit, asHTML)
}

func netprobeJoinCommand(a *app) *cobra.Command {
	var o measure.JoinOptions
	cmd := &cobra.Command{
		Use:   "join ADDRESS[:PORT]",
		Short: "Measure together with the server that waits at ADDRESS",
		Long: `Takes part in what airgap netprobe listen measures on the server at ADDRESS: asks for
the code that it shows, waits until all servers have come, measures to and from each
of them, and hands over what it saw. The verdict comes on that server. Nothing on this
one is changed; it needs airgap.rpm and no bundle.`,
		Example: "  airgap netprobe join 10.20.0.11\n  airgap netprobe join 10.20.0.11 --code-file /run/code",
		Args:    oneArg("the address that airgap netprobe listen shows"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Address, o.Console = args[0], a.terminal()
			return measure.Join(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.CodeFile, "code-file", "", "file with the code; default: prompt, or standard input when it is not a terminal")
	return cmd
}

// netprobeAgentCommand is what measures on each host; whoever started it speaks to it.
func netprobeAgentCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "agent", Short: "Measure as standard input says", Hidden: true, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return measure.Agent(cmd.Context(), a.stdin, a.stdout) },
	}
}
