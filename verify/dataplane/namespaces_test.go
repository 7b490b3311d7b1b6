package dataplane

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"airgap.dev/airgap/internal/netnstest"
)

// TestMain makes the test binary the program of a pod in a network namespace.
func TestMain(m *testing.M) {
	text := os.Getenv("DATAPLANE_POD")
	if text == "" {
		os.Exit(m.Run())
	}
	if err := runPod(text); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// podOptions are the settings of a pod in a namespace. Times in milliseconds are 0 for the usual ones.
type podOptions struct {
	Node, Host, Peer, PeerHost string
	Ports                      []int // source ports of the flows
	Idle, Patience, Remember   int
}

// podState is the line that a pod prints after each round.
type podState struct {
	Failures []Failure
	Measured int // paths with results
	Port     int // source port of the long connection, 0 without one
	Waits    bool
}

// runPod answers like a pod, and makes a round for each line on standard input.
func runPod(text string) error {
	var o podOptions
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	self := Self{Node: o.Node, Host: o.Host}
	web, err := net.Listen("tcp4", fmt.Sprintf(":%d", Port))
	if err != nil {
		return err
	}
	server, err := listenPaths(context.Background(), fmt.Sprintf(":%d", PathPort))
	if err != nil {
		return err
	}
	go func() { _ = server.run(context.Background()) }()
	go func() { _ = http.Serve(web, answer(self, func() error { return nil })) }()
	p := podProber(o)
	fmt.Println("ready")
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		s := podState{Failures: p.try(context.Background()), Measured: len(p.paths.states)}
		if l := p.paths.long[o.Peer]; l != nil && l.call != nil {
			s.Port, s.Waits = l.call.LocalAddr().(*net.TCPAddr).Port, !l.asked.IsZero()
		}
		if err := json.NewEncoder(os.Stdout).Encode(s); err != nil {
			return err
		}
	}
	return in.Err()
}

func podProber(o podOptions) *prober {
	c := newCaller()
	c.limit, c.pause = 2*time.Second, 10*time.Millisecond
	p := &prober{caller: c, options: Options{Self: Self{Node: o.Node, Host: o.Host}}, tried: map[string][]Failure{}, paths: newPaths(func(string) {})}
	p.service.nodePort = Port
	p.peers = []peer{{o.Peer, netip.AddrPortFrom(netip.MustParseAddr(o.PeerHost), Port)}}
	if o.Ports != nil {
		p.paths.states[o.Peer] = &pathState{address: p.paths.at(p.peers[0]), tcp: o.Ports, udp: o.Ports}
	}
	t := &p.paths.times
	t.active, t.idle = 0, []time.Duration{time.Duration(o.Idle) * time.Millisecond}
	if o.Patience > 0 {
		t.patience = time.Duration(o.Patience) * time.Millisecond
	}
	if o.Remember > 0 {
		t.remember = time.Duration(o.Remember) * time.Millisecond
	}
	return p
}

// podNetwork has two pods in network namespaces, on a bridge in a third one.
type podNetwork struct {
	t      *testing.T
	number int64
	pods   [2]*podProcess
}

type podProcess struct {
	cmd *exec.Cmd
	in  io.Writer
	out *bufio.Reader
}

var podNetworks atomic.Int64

func podAddress(i int) string { return fmt.Sprintf("10.98.0.%d", i+1) }

// startPods needs root and a kernel with namespaces. The pods are on the nodes w1 and w2.
func startPods(t *testing.T, o podOptions) *podNetwork {
	t.Helper()
	netnstest.NeedRoot(t)
	n := &podNetwork{t: t, number: podNetworks.Add(1)}
	t.Cleanup(n.down)
	script := "set -e\n" + fmt.Sprintf("ip netns add %[1]s; ip -n %[1]s link add br0 type bridge; ip -n %[1]s link set br0 up\n", n.space(2))
	for i := range 2 {
		script += fmt.Sprintf(`ip netns add %[1]s
ip link add p%[2]d netns %[3]s type veth peer name eth0 netns %[1]s
ip -n %[3]s link set p%[2]d master br0 up
ip -n %[1]s link set lo up; ip -n %[1]s address add %[4]s/24 dev eth0; ip -n %[1]s link set eth0 up
`, n.space(i), i, n.space(2), podAddress(i))
	}
	n.run(script, "sh")
	for i := range 2 {
		n.pods[i] = n.start(i, o)
	}
	return n
}

func (n *podNetwork) space(i int) string { return fmt.Sprintf("agd%d-%d-%d", os.Getpid(), n.number, i) }

func (n *podNetwork) down() {
	for _, p := range n.pods {
		if p != nil {
			_ = errors.Join(p.cmd.Process.Kill(), p.cmd.Wait())
		}
	}
	for i := range 3 {
		_ = exec.Command("ip", "netns", "del", n.space(i)).Run()
	}
}

func (n *podNetwork) run(stdin, name string, args ...string) {
	n.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Stdin = strings.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		n.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// rules sets the rules of the network between the pods, or of the pod with this index.
func (n *podNetwork) rules(space int, rules ...string) {
	n.t.Helper()
	family, hook := "inet", "input"
	if space == 2 {
		family, hook = "bridge", "forward"
	}
	text := fmt.Sprintf("table %[1]s test\ndelete table %[1]s test\ntable %[1]s test {\nchain c {\ntype filter hook %[2]s priority 0; policy accept;\n%[3]s\n}\n}\n",
		family, hook, strings.Join(rules, "\n"))
	n.run(text, "ip", "netns", "exec", n.space(space), "nft", "-f", "-")
}

// start starts the pod of a node.
func (n *podNetwork) start(i int, o podOptions) *podProcess {
	n.t.Helper()
	o.Node, o.Host, o.Peer, o.PeerHost = fmt.Sprint("w", i+1), podAddress(i), fmt.Sprint("w", 2-i), podAddress(1-i)
	text, err := json.Marshal(o)
	if err != nil {
		n.t.Fatal(err)
	}
	cmd := exec.Command("ip", "netns", "exec", n.space(i), os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), "DATAPLANE_POD="+string(text), "GOMAXPROCS=1"), os.Stderr
	in, errIn := cmd.StdinPipe()
	out, errOut := cmd.StdoutPipe()
	if err := errors.Join(errIn, errOut, cmd.Start()); err != nil {
		n.t.Fatal(err)
	}
	p := &podProcess{cmd, in, bufio.NewReader(out)}
	if line, err := p.out.ReadString('\n'); line != "ready\n" {
		n.t.Fatalf("got %q, %v", line, err)
	}
	return p
}

// round lets the pod on w1 make a round.
func (n *podNetwork) round() (s podState) {
	n.t.Helper()
	p := n.pods[0]
	if _, err := io.WriteString(p.in, "round\n"); err != nil {
		n.t.Fatal(err)
	}
	line, err := p.out.ReadBytes('\n')
	if err := errors.Join(err, json.Unmarshal(line, &s)); err != nil {
		n.t.Fatal(err)
	}
	return s
}

// replace kills the pod on w2 and starts another process at its address.
func (n *podNetwork) replace(o podOptions) {
	n.t.Helper()
	_ = errors.Join(n.pods[1].cmd.Process.Kill(), n.pods[1].cmd.Wait())
	n.pods[1] = n.start(1, o)
}
