// Package measure has servers measure what the network between them lets through where none can
// log in on the others, and writes the page for the network's owners: what it has to carry.
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
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/preflight/netprobe"
)

// MeetingPort is one that all nodes have to reach on the first host anyway: the registry's,
// where airgap.yaml says no other. The API server's is measured through the balancer.
const MeetingPort = 5000

// ListenOptions are what the first host waits for, and how long.
type ListenOptions struct {
	Dir     string        // the bundle's
	Keys    []string      // of --require-key
	Node    string        // which of airgap.yaml this host is; "": by its addresses
	Port    int           // TCP, at which this host waits
	Wait    time.Duration // for the other hosts
	Page    string        // file to write for the network's owners; "": none
	Console ui.Console
}

// Listen waits for the other hosts, has all of them measure, and judges. The error is a
// preflight.ReportError where the cluster would break on something.
func Listen(ctx context.Context, o ListenOptions) (preflight.Report, error) {
	if err := cmp.Or(hostcheck.MustBeRoot("netprobe listen"), site.CheckLater("--network-page", o.Page)); err != nil {
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
	if err := WritePage(s, o.Page, m); err != nil {
		return preflight.Report{}, err
	}
	report, err := hostcheck.JudgeBetween(ctx, s, m, preflight.Choice{})
	if err != nil {
		return preflight.Report{}, err
	}
	if err := hostcheck.Failed(report); err != nil {
		return report, err
	}
	return report, hostcheck.KeepMeasured(s, site.MeasuredFile, m, p)
}

// meet waits for the other hosts and has all of them measure.
func meet(ctx context.Context, s *site.Site, o ListenOptions, p ui.Progress) (*netprobe.Matrix, error) {
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
	var listening net.ListenConfig
	listener, err := listening.Listen(ctx, "tcp4", netip.AddrPortFrom(address, uint16(o.Port)).String())
	if err != nil {
		return nil, advice.Add(fmt.Errorf("wait for the other servers: %w", err), "--port takes another port")
	}
	p.Say("on each other server: airgap netprobe join %s", meetingAddress(s.Node.Address, o.Port))
	p.Say("the code, good once: %s", code)
	enough, cancel := context.WithTimeout(ctx, o.Wait)
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
	if port == MeetingPort {
		return address
	}
	return net.JoinHostPort(address, strconv.Itoa(port))
}

// JoinOptions say with whom this host measures.
type JoinOptions struct {
	Address  string // of the host that listens, with a port or without
	CodeFile string // with the code that it shows; "": the console is asked
	Console  ui.Console
}

// Join measures together with the host that waits at the address. The verdict comes there.
func Join(ctx context.Context, o JoinOptions) error {
	address := o.Address
	if _, err := netip.ParseAddr(address); err == nil {
		address = net.JoinHostPort(address, strconv.Itoa(MeetingPort))
	}
	if _, err := netip.ParseAddrPort(address); err != nil {
		return advice.Usagef("%q: want an address, or ADDRESS:PORT, as airgap netprobe listen shows it", address)
	}
	if err := hostcheck.MustBeRoot("netprobe join"); err != nil {
		return err
	}
	text, err := ui.Secret(ctx, o.Console, o.CodeFile, "Code (not shown): ")
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
	p := o.Console.Progress()
	p.Now("Measure together with " + address)
	defer p.Now("")
	if err := netprobe.Join(ctx, address, token); err != nil {
		return advice.Add(err, "where the first server's own firewall closes the port: firewall-cmd --add-port=%d/tcp --timeout=10m", MeetingPort)
	}
	p.Say("measured; the verdict is on %s", address)
	return nil
}

// Agent measures as in says, and answers in out.
func Agent(ctx context.Context, in io.Reader, out io.Writer) error {
	if err := hostcheck.MustBeRoot("netprobe agent"); err != nil {
		return err
	}
	return netprobe.Serve(ctx, in, out)
}
