package agent

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"airgap.dev/airgap/internal/netnstest"
	"airgap.dev/airgap/preflight/netprobe"
)

// TestMain makes the test binary an agent in a network namespace, either on standard input or with
// Join.
func TestMain(m *testing.M) {
	var err error
	switch address := os.Getenv("NETPROBE_AGENT"); address {
	case "":
		flag.Parse()
		_ = flag.Set("test.parallel", "6") // the tests mostly wait
		os.Exit(runTests(m))
	case "stdin":
		err = Serve(context.Background(), os.Stdin, os.Stdout)
	default:
		err = joinByCode(address)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// programVariable has the program of the agents, if it is not the program of the tests.
const programVariable = "NETPROBE_PROGRAM"

// runTests runs the tests with agents that are built as airgap is: without cgo. With cgo, Go cannot change the privileges
// of all threads.
func runTests(m *testing.M) int {
	if _, _, err := syscall.AllThreadsSyscall(syscall.SYS_GETPID, 0, 0, 0); err != syscall.ENOTSUP {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "netprobe-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "agent.test")
	build := exec.Command("go", "test", "-c", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the agents: %v: %s\n", err, out)
		return 1
	}
	os.Setenv(programVariable, program)
	return m.Run()
}

func joinByCode(address string) error {
	code, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	token, err := netprobe.ParseCode(string(code))
	if err != nil {
		return err
	}
	return Join(context.Background(), address, token)
}

// network has hosts in network namespaces, on a bridge in a separate namespace.
type network struct {
	t      testing.TB
	number int64
	hosts  []netprobe.Host
	token  netprobe.Token // of the plans; zero for a new one each

	listening func() // runs when all agents listen
}

// networks numbers the networks: the tests run in parallel, because they mostly wait.
var networks atomic.Int64

// newNetwork needs root and a kernel with namespaces. Without root it skips the test, or fails if
// AIRGAP_REQUIRE_TOOLS is set.
func newNetwork(t testing.TB, hosts int) *network {
	t.Helper()
	netnstest.NeedRoot(t)
	n := &network{t: t, number: networks.Add(1)}
	t.Cleanup(n.down)
	n.down()
	var batch strings.Builder
	add := func(format string, args ...any) { fmt.Fprintf(&batch, format+"\n", args...) }
	n.run("", "ip", "netns", "add", n.space(-1))
	n.run("", "ip", "-n", n.space(-1), "link", "add", "br0", "type", "bridge")
	n.run("", "ip", "-n", n.space(-1), "link", "set", "br0", "up")
	for i := range hosts {
		address := netip.AddrFrom4([4]byte{10, 99, byte((i + 1) >> 8), byte(i + 1)})
		n.hosts = append(n.hosts, netprobe.Host{Name: fmt.Sprintf("h%d", i), Address: address, ControlPlane: i < 3})
		n.run("", "ip", "netns", "add", n.space(i))
		add("link add p%d netns %s type veth peer name eth0 netns %s", i, n.space(-1), n.space(i))
		n.run("", "sh", "-c", fmt.Sprintf(`ip -batch - <<'END'
%sEND
ip -n %[2]s link set p%[3]d master br0 up
ip -n %[4]s link set lo up
ip -n %[4]s address add %[5]s/16 dev eth0
ip -n %[4]s link set eth0 up`, batch.String(), n.space(-1), i, n.space(i), address))
		batch.Reset()
	}
	return n
}

// space is the name of a host's namespace; -1 is the namespace of the bridge.
func (n *network) space(i int) string { return fmt.Sprintf("agp%d-%d-%d", os.Getpid(), n.number, i) }

func (n *network) down() {
	for i := -1; i < len(n.hosts); i++ {
		_ = exec.Command("ip", "netns", "del", n.space(i)).Run()
	}
}

func (n *network) run(stdin, name string, args ...string) {
	n.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Stdin = strings.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		n.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// lose makes the network between the hosts drop packets.
func (n *network) lose(rules ...string) {
	n.t.Helper()
	n.rules(-1, "bridge", "forward", rules)
}

// shut makes a host's own firewall drop incoming packets.
func (n *network) shut(host int, rules ...string) {
	n.t.Helper()
	n.rules(host, "inet", "input", rules)
}

func (n *network) rules(space int, family, hook string, rules []string) {
	n.t.Helper()
	text := fmt.Sprintf("table %s test {\nchain c {\ntype filter hook %s priority 0; policy accept;\n%s\n}\n}\n", family, hook, strings.Join(rules, "\n"))
	n.run(text, "ip", "netns", "exec", n.space(space), "nft", "-f", "-")
}

func (n *network) plan() netprobe.Plan {
	return netprobe.Plan{
		Token: cmp.Or(n.token, netprobe.NewToken()), Hosts: n.hosts, Limit: 120,
		TCP: []netprobe.Port{
			{Number: 6443, For: "kube-apiserver", To: netprobe.ControlPlanes, From: netprobe.All},
			{Number: 2380, For: "etcd peers", To: netprobe.ControlPlanes, From: netprobe.ControlPlanes},
			{Number: 10250, For: "kubelet", To: netprobe.All, From: netprobe.All},
		},
		UDP:   []int{6081},
		VXLAN: []int{8472, 4789},
		Pods:  netip.MustParsePrefix("10.244.0.0/16"),
	}
}

// measure runs an agent on every host.
func (n *network) measure(plan netprobe.Plan) []*netprobe.Report {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	links := map[int]netprobe.Link{}
	agents := make([]*process, len(n.hosts))
	for i := range n.hosts {
		agents[i] = n.start(ctx, i)
		links[i] = netprobe.Link{In: agents[i].in, Out: agents[i].out}
	}
	reports, lost := netprobe.Coordinate(ctx, plan, links, n.reached)
	for i, a := range agents {
		if err := errors.Join(lost[i], a.cmd.Wait()); err != nil {
			n.t.Fatalf("host %d: %v\n%s", i, err, &a.stderr)
		}
	}
	return reports
}

// reached runs the change of a test when all agents listen.
func (n *network) reached(state string) {
	if state == netprobe.Ready && n.listening != nil {
		n.listening()
	}
}

// process is an agent.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    io.Reader
	stderr bytes.Buffer
}

func (n *network) start(ctx context.Context, self int) *process {
	n.t.Helper()
	p := &process{cmd: n.agent(ctx, self, "stdin")}
	p.cmd.Stderr = &p.stderr
	in, errIn := p.cmd.StdinPipe()
	out, errOut := p.cmd.StdoutPipe()
	if err := errors.Join(errIn, errOut, p.cmd.Start()); err != nil {
		n.t.Fatal(err)
	}
	p.in, p.out = in, out
	return p
}

func (n *network) agent(ctx context.Context, self int, how string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "ip", "netns", "exec", n.space(self), cmp.Or(os.Getenv(programVariable), os.Args[0]))
	cmd.Env = append(os.Environ(), "NETPROBE_AGENT="+how, "GOMAXPROCS=2")
	return cmd
}

// ready starts an agent and waits until it listens.
func (n *network) ready(self int) *process {
	n.t.Helper()
	p := n.start(n.t.Context(), self)
	plan := n.plan()
	plan.Self = self
	out := bufio.NewReader(p.out)
	err := json.NewEncoder(p.in).Encode(plan)
	if err == nil {
		_, err = out.ReadString('\n')
	}
	if err != nil {
		n.t.Fatalf("%v\n%s", err, &p.stderr)
	}
	return p
}

// matrix measures and evaluates the reports.
func (n *network) matrix(plan netprobe.Plan) *netprobe.Matrix {
	n.t.Helper()
	m, err := netprobe.Judge(n.measure(plan))
	if err != nil {
		n.t.Fatal(err)
	}
	needs := netprobe.Needs{TCP: plan.TCP, Routed: true}
	if len(plan.VXLAN) > 0 {
		needs.VXLAN = plan.VXLAN[0]
	}
	for _, f := range m.Findings(needs) {
		n.checkPackets(f)
	}
	return m
}

// checkPackets checks that a finding for the network or balancer team has packets, or says why it has none.
func (n *network) checkPackets(f netprobe.Finding) {
	n.t.Helper()
	if f.Severity == netprobe.Notes || f.Owner != netprobe.NetworkTeam && f.Owner != netprobe.BalancerTeam {
		return
	}
	n.t.Logf("%s\n%s\n%s", f.What, strings.Join(f.Between, "; "), strings.Join(f.Capture, "\n"))
	reason := slices.ContainsFunc([]string{"this header is data", "the connections are complete", "no SYN to the load balancer left"}, func(reason string) bool {
		return strings.HasPrefix(f.NoCapture, "no packets: "+reason)
	})
	if len(f.Capture) > 12 || (len(f.Capture) > 0) == reason {
		n.t.Errorf("%s: captured %q, %s", f.What, f.Capture, f.NoCapture)
	}
}

// result returns one result of the matrix.
func result(t testing.TB, m *netprobe.Matrix, from, to int, kind netprobe.Kind, port int) netprobe.Verdict {
	t.Helper()
	for _, v := range m.Verdicts {
		if v.From == from && v.To == to && v.Kind == kind && v.Port == port {
			return v
		}
	}
	t.Fatalf("no result for %s %d from %d to %d", kind, port, from, to)
	return netprobe.Verdict{}
}
