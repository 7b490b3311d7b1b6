package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/preflight/netprobe"
)

// meetingPort is one that all nodes have to reach on the first host anyway: the registry's,
// where airgap.yaml says no other. The API server's is measured through the balancer.
const meetingPort = 5000

func (a *app) netprobe() *cobra.Command {
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
	cmd.AddCommand(a.netprobePage(), a.netprobeListen(), a.netprobeJoin(), a.netprobeAgent())
	return cmd
}

// listenOptions are what the first host waits for, and how long.
type listenOptions struct {
	keys []string
	node string
	port int
	wait time.Duration
	page string
}

func (a *app) netprobeListen() *cobra.Command {
	var o listenOptions
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
		RunE:    func(cmd *cobra.Command, args []string) error { return a.runListen(cmd.Context(), args[0], o) },
	}
	keyFlags(cmd, &o.keys)
	cmd.Flags().StringVar(&o.node, "node", "", "which node of airgap.yaml this host is; default: by its addresses")
	cmd.Flags().IntVar(&o.port, "port", meetingPort, "TCP port at which this host waits")
	cmd.Flags().DurationVar(&o.wait, "wait", 10*time.Minute, "how long to wait for the other servers")
	pageFlag(cmd, &o.page)
	return gives(cmd, asText, asJSON, asYAML, asJUnit, asHTML)
}

func (a *app) runListen(ctx context.Context, dir string, o listenOptions) error {
	if err := cmp.Or(mustBeRoot("netprobe listen"), site.CheckLater("--network-page", o.page)); err != nil {
		return err
	}
	b, _, err := site.Open(dir, o.keys)
	if err != nil {
		return err
	}
	defer b.Close()
	s, err := site.New(b.Index(), o.node)
	if err != nil {
		return err
	}
	m, err := a.meet(ctx, s, o)
	if err != nil {
		return err
	}
	if err := writeNetworkPage(s, o.page, m); err != nil {
		return err
	}
	report, err := hostcheck.JudgeBetween(ctx, s, m, preflight.Choice{})
	if err != nil {
		return err
	}
	if report.Passed() {
		err = hostcheck.KeepMeasured(s, site.MeasuredFile, m, a.newProgress())
	}
	return cmp.Or(a.showPreflight(report), err)
}

// meet waits for the other hosts and has all of them measure.
func (a *app) meet(ctx context.Context, s *site.Site, o listenOptions) (*netprobe.Matrix, error) {
	plan, err := hostcheck.ProbePlan(s.Config)
	if err != nil {
		return nil, err
	}
	code := netprobe.NewCode()
	if plan.Token, err = netprobe.ParseCode(code); err != nil {
		return nil, err
	}
	plan.Self = slices.IndexFunc(s.Config.Nodes, func(n config.Node) bool { return n.Name == s.Node.Name })
	address, err := netip.ParseAddr(s.Node.Address)
	if err != nil {
		return nil, err
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp4", netip.AddrPortFrom(address, uint16(o.port)).String())
	if err != nil {
		return nil, advice.Add(fmt.Errorf("wait for the other servers: %w", err), "--port takes another port")
	}
	p := a.newProgress()
	p.Say("on each other server: airgap netprobe join %s", meetingAddress(s.Node.Address, o.port))
	p.Say("the code, good once: %s", code)
	enough, cancel := context.WithTimeout(ctx, o.wait)
	defer cancel()
	here := 1
	links, err := netprobe.Meet(ctx, &plan, listener, enough.Done(), func(i int) {
		here++
		p.Say("%s is here; %d of %d", plan.Hosts[i].Name, min(here, len(plan.Hosts)), len(plan.Hosts))
	}, func(err error) { p.Say("%v", err) })
	if err != nil {
		return nil, err
	}
	links[plan.Self] = hostcheck.AgentHere(ctx)
	return hostcheck.Measured(ctx, plan, links, p)
}

// meetingAddress leaves the usual port away.
func meetingAddress(address string, port int) string {
	if port == meetingPort {
		return address
	}
	return net.JoinHostPort(address, strconv.Itoa(port))
}

func (a *app) netprobeJoin() *cobra.Command {
	var codeFile string
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
			return a.runNetprobeJoin(cmd.Context(), args[0], codeFile)
		},
	}
	cmd.Flags().StringVar(&codeFile, "code-file", "", "file with the code; default: prompt, or standard input when it is not a terminal")
	return cmd
}

func (a *app) runNetprobeJoin(ctx context.Context, address, codeFile string) error {
	if _, err := netip.ParseAddr(address); err == nil {
		address = net.JoinHostPort(address, strconv.Itoa(meetingPort))
	}
	if _, err := netip.ParseAddrPort(address); err != nil {
		return advice.Usagef("%q: want an address, or ADDRESS:PORT, as airgap netprobe listen shows it", address)
	}
	if err := mustBeRoot("netprobe join"); err != nil {
		return err
	}
	text, err := a.readSecret(ctx, codeFile, "Code (not shown): ")
	if errors.Is(err, io.EOF) {
		return advice.Add(errors.New("read the code: standard input is empty"), "pipe it in, or name its file with --code-file")
	}
	if err != nil {
		return fmt.Errorf("read the code: %w", err)
	}
	token, err := netprobe.ParseCode(text)
	if err != nil {
		return advice.Usagef("%v", err)
	}
	p := a.newProgress()
	p.Now("Measure together with " + address)
	defer p.Now("")
	if err := netprobe.Join(ctx, address, token); err != nil {
		return advice.Add(err, "where the first server's own firewall closes the port: firewall-cmd --add-port=%d/tcp --timeout=10m", meetingPort)
	}
	p.Say("measured; the verdict is on %s", address)
	return nil
}

// netprobeAgent is what measures on each host; whoever started it speaks to it.
func (a *app) netprobeAgent() *cobra.Command {
	return &cobra.Command{
		Use: "agent", Short: "Measure as standard input says", Hidden: true, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := mustBeRoot("netprobe agent"); err != nil {
				return err
			}
			return netprobe.Serve(cmd.Context(), a.stdin, a.stdout)
		},
	}
}
