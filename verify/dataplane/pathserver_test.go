package dataplane

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/internal/porttest"
)

func startPathServer(t *testing.T) (*pathServer, netip.AddrPort) {
	t.Helper()
	address := net.JoinHostPort("127.0.0.1", porttest.Reserve(t))
	ctx, cancel := context.WithCancel(t.Context())
	s, err := listenPaths(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s, netip.MustParseAddrPort(address)
}

// TestHostileCaller: lines that are too long, unknown or too many end a connection, and packets
// without a train are ignored.
func TestHostileCaller(t *testing.T) {
	s, at := startPathServer(t)
	for name, text := range map[string]string{
		"nothing known":  "GET / HTTP/1.1\r\n\r\n",
		"a long line":    strings.Repeat("a", 10*maxLine),
		"other question": helloMeasure + "\nread /etc/passwd\n",
		"too many":       helloMeasure + "\n" + strings.Repeat("count\n", maxQuestions),
		"many trains":    helloMeasure + "\n" + strings.Repeat("train\n", maxQuestions),
		"other message":  helloKeep + "\nping 1\n",
	} {
		conn, err := net.Dial("tcp4", at.String())
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.WriteString(conn, text) }()
		_ = conn.SetDeadline(time.Now().Add(9 * time.Second))
		if got, err := io.ReadAll(io.LimitReader(conn, 1<<20)); err != nil && strings.Contains(err.Error(), "timeout") || len(got) > maxLine*maxQuestions {
			t.Errorf("%s: got %d bytes, %v", name, len(got), err)
		}
		conn.Close()
	}
	udp, err := net.Dial("udp4", at.String())
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	for _, size := range []int{0, 1, packetSize - 1, packetSize, packetSize + 1, 1400} {
		_, _ = udp.Write(make([]byte, size))
	}
	c, err := openPath(t.Context(), at, helloMeasure)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.ask("train"); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.trains) != 1 || len(s.kept) != 0 {
		t.Errorf("%d trains, %d long connections remain", len(s.trains), len(s.kept))
	}
}

// TestManyLongConnections: the oldest connection of an address makes room, and gets a goodbye.
func TestManyLongConnections(t *testing.T) {
	s, at := startPathServer(t)
	var all []*pathCall
	for range maxKeptFrom + 1 {
		c, err := openPath(t.Context(), at, helloKeep)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if got, err := c.ask("still 1"); err != nil || got != "still 1" {
			t.Fatalf("got %q, %v", got, err)
		}
		all = append(all, c)
	}
	if got, err := all[0].read(5 * time.Second); got != goodbye {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := all[1].ask("still 2"); got != "still 2" {
		t.Errorf("got %q, %v", got, err)
	}
	for i := range 2 * maxKept {
		near, far := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, far) }()
		for _, old := range s.touch(keptConn{&lines{near, bufio.NewReader(near)}, strconv.Itoa(i)}) {
			old.bye()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.kept) != maxKept {
		t.Errorf("%d long connections, want %d", len(s.kept), maxKept)
	}
}

// TestEndOfPod: a pod that ends says it on its long connections, and the caller has no failure.
func TestEndOfPod(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s, err := listenPaths(ctx, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.run(ctx) }()
	l := &longConn{address: netip.MustParseAddrPort(s.tcp.Addr().String())}
	times := usualTimes()
	l.round(t.Context(), times)
	l.round(t.Context(), times)
	if l.call == nil || l.number != 1 {
		t.Fatalf("no message: %+v", l)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	l.round(t.Context(), times)
	if l.call != nil || l.ended != "" || l.failures("w2", times) != nil {
		t.Errorf("got %+v", l)
	}
}

// TestHostileServer: another program, or wrong answers, are no numbers.
func TestHostileServer(t *testing.T) {
	for _, answers := range []string{
		"", "\n", "HTTP/1.1 400 Bad Request\n", strings.Repeat("a", 10*maxLine),
		greeting + "x\nping 1\n",
		greeting + "x\ntrain 1\ncount\n",
		greeting + "x\ntrain 1\ncount 0" + strings.Repeat(" -1", flows) + "\n",
		greeting + "x\ntrain 1\ncount 0" + strings.Repeat(" 99999999999999999999", flows) + "\n",
		greeting + "x\ntrain 1\ncount 0" + strings.Repeat(" 1", 3*flows) + "\n",
		greeting + "x\ntrain 1\norder 0 1\n", greeting + "x\ntrain 1\norder 0 -1 0\n", greeting + "x\ntrain 1\norder 0 1 2\n", greeting + "x\ntrain 1\norder 0 9999 0\n",
	} {
		listener, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				_, _ = io.WriteString(conn, answers)
				_ = conn.(*net.TCPConn).CloseWrite()
			}
		}()
		at := netip.MustParseAddrPort(listener.Addr().String())
		if _, ok := measurePath(t.Context(), at, pathState{}); ok {
			t.Errorf("%.40q: measured", answers)
		}
		if c, err := openPath(t.Context(), at, helloMeasure); err == nil {
			l := &lanes{call: c}
			if strings.Contains(answers, "order") {
				if got, err := l.burst(t.Context(), 0); err == nil {
					t.Errorf("%.40q: got %+v", answers, got)
				}
			} else if got, err := l.send(t.Context(), 1); err == nil {
				t.Errorf("%.40q: got %+v", answers, got)
			}
			c.Close()
		}
		listener.Close()
	}
}

// TestTurnOfPaths: a round measures few paths in turn, and bad ones more often. Each pod has long
// connections to the next ones in the list.
func TestTurnOfPaths(t *testing.T) {
	m := newPaths(func(string) {})
	var peers []peer
	for i := range 100 {
		peers = append(peers, peer{fmt.Sprintf("w%03d", i), netip.MustParseAddrPort("10.0.0.1:8080")})
	}
	for _, other := range peers[:50] {
		bad := []Failure{{flowsTo + other.node, ""}}
		m.states[other.node] = &pathState{last: bad, failures: bad}
	}
	seen := map[string]int{}
	for range 26 {
		now := m.turn(peers, nil)
		if len(now) > 2*pathsPerRound {
			t.Errorf("%d paths in a round", len(now))
		}
		for _, other := range now {
			seen[other.node]++
		}
	}
	for i, other := range peers {
		if n := seen[other.node]; i < 50 && (n < 5 || n > 8) || i >= 50 && (n < 2 || n > 3) {
			t.Errorf("%s: %d times", other.node, n)
		}
	}
	m.states["w070"] = &pathState{last: []Failure{{flowsTo + "w070", ""}}} // not yet confirmed
	if now := m.turn(peers, nil); now[pathsPerRound].node != "w070" {
		t.Errorf("measured again: %+v", now[pathsPerRound:])
	}
	m.clock = func() time.Time { return time.Unix(0, 0) } // the first turn of the long connections
	m.forget("w090x", peers)
	if len(m.long) != maxLong || m.long["w091"] == nil || m.long["w022"] == nil || m.long["w023"] != nil {
		t.Errorf("%d long connections", len(m.long))
	}
	m.forget("w090x", peers[:5])
	if len(m.long) != 5 || len(m.states) != 5 {
		t.Errorf("%d long connections and %d states remain", len(m.long), len(m.states))
	}
}

// TestTurnOfLongConnections: a pod in a large cluster connects to all others in turn, each pod answers as many, and a
// connection that broke in an earlier turn is still a failure.
func TestTurnOfLongConnections(t *testing.T) {
	const nodes = 300
	all := make([]peer, nodes)
	for i := range all {
		all[i] = peer{fmt.Sprintf("w%03d", i), netip.MustParseAddrPort("10.0.0.1:8080")}
	}
	now := time.Unix(1e9, 0)
	pods := make([]*paths, nodes)
	for i := range pods {
		pods[i] = newPaths(func(string) {})
		pods[i].clock = func() time.Time { return now }
	}
	others := func(i int) []peer { return slices.Delete(slices.Clone(all), i, i+1) }
	seen := map[string]bool{}
	for range (nodes - 2 + maxLong) / maxLong {
		answers := map[string]int{}
		for i, m := range pods {
			m.forget(all[i].node, others(i))
			for node := range m.long {
				answers[node]++
			}
		}
		for node := range pods[7].long {
			seen[node] = true
		}
		for _, other := range all {
			if n := answers[other.node]; n < maxLong-1 || n > maxLong+1 {
				t.Errorf("%s answers on %d long connections", other.node, n)
			}
		}
		now = now.Add(longTurn)
	}
	if len(seen) != nodes-1 || seen["w007"] {
		t.Errorf("%d of %d nodes had a long connection", len(seen), nodes-1)
	}
	m := pods[7]
	for node, l := range m.long {
		l.broke(m.times, "was reset")
		m.forget("w007", others(7))
		if m.long[node] != nil || linesOf(m.failures()) != "long connection to "+node+": was reset" {
			t.Errorf("in the next turn: %q", linesOf(m.failures()))
		}
		m.broken[node].breaks = nil
		m.forget("w007", others(7))
		if len(m.broken) > 0 {
			t.Errorf("%d old connections remain", len(m.broken))
		}
		break
	}
	times := usualTimes()
	least := time.Duration(len(times.idle)) * times.active
	for _, idle := range times.idle {
		least += idle
	}
	if least > longTurn {
		t.Errorf("the idle times take %s, longer than a turn", least)
	}
}

// TestIdleTimes: a connection has a message in each round, then longer and longer times without one.
func TestIdleTimes(t *testing.T) {
	times := usualTimes()
	if longest := slices.Max(times.idle); longest+10*time.Minute > keptIdle {
		t.Errorf("the server ends a connection before %s", longest)
	}
	l := &longConn{active: time.Now().Add(-times.active)}
	for _, want := range append(slices.Clone(times.idle), times.idle[0]) {
		l.answered(times)
		if got := time.Until(l.rest).Round(time.Second); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		l.answered(times)
		if !l.rest.IsZero() {
			t.Error("no message after the idle time")
		}
		l.active = l.active.Add(-times.active)
	}
}

// TestResults: failures of paths to one node are one result.
func TestResults(t *testing.T) {
	list := func(names []string) string { return strings.Join(names, ",") }
	lost := func(n int) Failure { return Failure{"flows to w9", fmt.Sprintf("%d of 16 TCP flows are lost", n)} }
	got := Results(map[Failure][]string{
		{"pod on w9", noReply}: {"w2", "w1"}, lost(5): {"w3", "w1"}, lost(6): {"w2"}, lost(7): {"w4"}, lost(8): {"w5"},
		{"packets to w9", "21 of 1008 UDP packets are lost (2.1 %)"}: {"w1"},
	}, list)
	want := []Result{
		{"flows to w9", "from w1,w3: 5 of 16 TCP flows are lost; from w2: 6 of 16 TCP flows are lost; from w4: 7 of 16 TCP flows are lost; and 1 more",
			"all flows pass", Failure{Target: "flows to w9"}.Fix()},
		{"packets to w9", "from w1: 21 of 1008 UDP packets are lost (2.1 %)", "less than 0.5 % of the packets are lost", Failure{Target: "packets to w9"}.Fix()},
		{"pod on w9", "no answer from w1,w2", "an answer from every node", Failure{Target: "pod on w9"}.Fix()},
	}
	slices.SortFunc(got, func(a, b Result) int { return cmp.Compare(a.Target, b.Target) })
	if !slices.Equal(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestBursts: losses of a burst count where slow packets pass; packets that arrive behind later ones count by share.
func TestBursts(t *testing.T) {
	full := burst{sent: burstPackets, arrived: burstPackets}
	for name, test := range map[string]struct {
		change func(*burst)
		slow   float64 // loss of slow packets in percent
		want   string
	}{
		"clean":           {func(*burst) {}, 0, ""},
		"little loss":     {func(b *burst) { b.arrived -= 7 }, 0, ""},
		"limited":         {func(b *burst) { b.arrived = 60 }, 0, "bursts to w2: 100 of 160 packets of 1,280 bytes are lost at 20 Mbit/s (62 %), and slow small packets pass"},
		"the hosts drop":  {func(b *burst) { b.arrived, b.dropped = 60, 100 }, 0, ""},
		"a lossy path":    {func(b *burst) { b.arrived -= 24 }, 10, ""},
		"too large":       {func(b *burst) { b.arrived = 0 }, 0, ""},
		"reordered":       {func(b *burst) { b.reordered = 40 }, 0, "order of packets to w2: 25 % of the packets of one flow arrive behind later ones"},
		"a few reordered": {func(b *burst) { b.reordered = 7 }, 0, ""},
	} {
		b := full
		test.change(&b)
		if got := linesOf(b.failures("w2", test.slow)); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// TestOrder: the server counts packets behind a later one, and each number once.
func TestOrder(t *testing.T) {
	s := &pathServer{trains: map[uint64]*arrivals{7: {}}}
	for _, number := range []int{0, 2, 1, 1, 5, 3, 4, 6, maxTrain, maxTrain + 9} {
		s.arrived(7, number)
	}
	s.arrived(8, 1)
	_, counts, _ := strings.Cut(s.order(7), " ")
	if _, counts, _ = strings.Cut(counts, " "); counts != "7 3" || len(s.trains) != 1 {
		t.Errorf("%q, %d trains", counts, len(s.trains))
	}
}

// TestLostPackets: packets of dead flows, and those that the hosts dropped themselves, are no losses.
func TestLostPackets(t *testing.T) {
	full := train{}
	for flow := range flows {
		full.sent[flow], full.arrived[flow] = longTrain, longTrain
	}
	for name, test := range map[string]struct {
		change   func(*train)
		lost, of int
	}{
		"all arrive":         {func(*train) {}, 0, 1008},
		"some are lost":      {func(n *train) { n.arrived[3] -= 7 }, 7, 1008},
		"dropped by a host":  {func(n *train) { n.arrived[3], n.dropped = n.arrived[3]-7, 9 }, 0, 1008},
		"a dead flow":        {func(n *train) { n.arrived[3] = 0 }, 0, 945},
		"more than was sent": {func(n *train) { n.arrived[3] = 1 << 30 }, 0, 1008},
	} {
		n := full
		test.change(&n)
		if lost, of := n.lost(); lost != test.lost || of != test.of || n.someDead() != (test.of < 1008) {
			t.Errorf("%s: got %d of %d, want %d of %d", name, lost, of, test.lost, test.of)
		}
	}
}
