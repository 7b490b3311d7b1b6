// Package measure measures the network between servers without SSH, and writes the page of the network's
// requirements for the network administrators.
package measure

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

	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/preflight/netprobe"
	"airgap.dev/airgap/preflight/netprobe/agent"
)

// MeetingPort is the default port of the registry, which all nodes must reach on the first host in any case. The
// API server's port is measured through the load balancer.
const MeetingPort = 5000

// ListenOptions are the options of Listen.
type ListenOptions struct {
	Dir     string        // of the bundle
	Keys    []string      // of --require-key
	Node    string        // name of this host in airgap.yaml; "": found by its addresses
	Port    int           // TCP port on which this host listens
	Wait    time.Duration // maximum time for the other hosts to connect
	Page    File          // the page of the network administrators
	Console ui.Console
}

// Listen waits for the other hosts, measures between all of them, and runs the checks between hosts. If a check
// fails, the error is a preflight.ReportError.
func Listen(ctx context.Context, o ListenOptions) (preflight.Report, error) {
	if err := cmp.Or(hostcheck.MustBeRoot("netprobe listen"), o.Page.Check()); err != nil {
		return preflight.Report{}, err
	}
	b, _, err := site.Open(o.Dir, o.Keys)
	if err != nil {
		return preflight.Report{}, err
	}
	defer b.Close()
	s, err := site.New(b.Index(), o.Node)
	if err != nil {
		return preflight.Report{}, err
	}
	p := o.Console.Progress()
	m, err := meet(ctx, s, o, p)
	if err != nil {
		return preflight.Report{}, err
	}
	if err := o.Page.Write(ctx, s, m); err != nil {
		return preflight.Report{}, err
	}
	report, err := hostcheck.JudgeBetween(ctx, s, m, preflight.Choice{})
	if err != nil {
		return preflight.Report{}, err
	}
	if err := hostcheck.Failed(report); err != nil {
		return report, err
	}
	return report, hostcheck.SaveMeasured(s, site.MeasuredFile, m, p)
}

// meet waits for the other hosts and measures between all of them.
func meet(ctx context.Context, s *site.Site, o ListenOptions, p ui.Progress) (*netprobe.Matrix, error) {
	plan, err := hostcheck.ProbePlan(s.Config)
	if err != nil {
		return nil, err
	}
	code := netprobe.NewCode()
	if plan.Token, err = netprobe.ParseCode(code); err != nil {
		return nil, err
	}
	plan.Self = slices.IndexFunc(plan.Hosts, func(h netprobe.Host) bool { return h.Name == s.Node.Name })
	if plan.Self < 0 {
		return nil, advice.Add(fmt.Errorf("measure the network from %s: airgap.yaml declares this host absent", s.Node.Name), "remove nodes[].absent of %s from airgap.yaml and build the bundle again", s.Node.Name)
	}
	address, err := netip.ParseAddr(s.Node.Address)
	if err != nil {
		return nil, err
	}
	var listening net.ListenConfig
	listener, err := listening.Listen(ctx, "tcp4", netip.AddrPortFrom(address, uint16(o.Port)).String())
	if err != nil {
		return nil, advice.Add(fmt.Errorf("wait for the other servers: %w", err), "choose another port with --port")
	}
	p.Say("run on each other server: airgap netprobe join %s", meetingAddress(s.Node.Address, o.Port))
	p.Say("the code, valid once: %s", code)
	enough, cancel := context.WithTimeout(ctx, o.Wait)
	defer cancel()
	here := 1
	links, err := netprobe.Meet(ctx, &plan, listener, enough.Done(), func(i int) {
		here++
		p.Say("%s is connected; %d of %d", plan.Hosts[i].Name, min(here, len(plan.Hosts)), len(plan.Hosts))
	}, func(err error) { p.Say("%v", err) })
	if err != nil {
		return nil, err
	}
	links[plan.Self] = hostcheck.LocalAgent(ctx)
	return hostcheck.Measured(ctx, plan, links, p)
}

// meetingAddress returns the address without the port if it is MeetingPort.
func meetingAddress(address string, port int) string {
	if port == MeetingPort {
		return address
	}
	return net.JoinHostPort(address, strconv.Itoa(port))
}

// JoinOptions are the options of Join.
type JoinOptions struct {
	Address  string // of the host that listens: IP or IP:PORT
	CodeFile string // with the code from that host; "": the user is asked
	Console  ui.Console
}

// Join measures together with the host that listens at the address. The result is displayed on that host.
func Join(ctx context.Context, o JoinOptions) error {
	address := o.Address
	if _, err := netip.ParseAddr(address); err == nil {
		address = net.JoinHostPort(address, strconv.Itoa(MeetingPort))
	}
	if _, err := netip.ParseAddrPort(address); err != nil {
		return advice.Usagef("%q: want an address, or ADDRESS:PORT, as in the output of airgap netprobe listen", address)
	}
	if err := hostcheck.MustBeRoot("netprobe join"); err != nil {
		return err
	}
	text, err := ui.Secret(ctx, o.Console, o.CodeFile, "Code (not shown): ")
	if errors.Is(err, io.EOF) {
		return advice.Add(errors.New("read the code: standard input is empty"), "write the code to standard input, or give its file with --code-file")
	}
	if err != nil {
		return fmt.Errorf("read the code: %w", err)
	}
	token, err := netprobe.ParseCode(text)
	if err != nil {
		return advice.Usagef("%v", err)
	}
	p := o.Console.Progress()
	p.Now("Measure together with " + address)
	defer p.Now("")
	if err := agent.Join(ctx, address, token); err != nil {
		return advice.Add(err, "if the firewall of the first server blocks the port, run firewall-cmd --add-port=%d/tcp --timeout=10m there", MeetingPort)
	}
	p.Say("measured; the result is on %s", address)
	return nil
}

// Agent reads the plan of a measurement from in, measures, and writes the report to out.
func Agent(ctx context.Context, in io.Reader, out io.Writer) error {
	if err := hostcheck.MustBeRoot("netprobe agent"); err != nil {
		return err
	}
	return agent.Serve(ctx, in, out)
}
