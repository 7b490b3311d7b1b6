package podpath

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/netnstest"
	"airgap.dev/airgap/preflight/facts"
)

var (
	pods     = netip.MustParsePrefix("10.244.0.0/16")
	services = netip.MustParsePrefix("10.96.0.0/12")
)

// TestMain makes the test binary a program that tries the way until it is killed.
func TestMain(m *testing.M) {
	if os.Getenv("PODPATH_AGAIN") == "" {
		os.Exit(m.Run())
	}
	for {
		Try(context.Background(), host.Local{}, pods, services)
	}
}

// inHost makes this thread's network namespace a host: one interface with an address and a default
// route, and no rules. The machine's own namespace never changes. It needs root.
func inHost(t *testing.T) {
	t.Helper()
	netnstest.Enter(t)
	run(t, "ip link set lo up; ip link add ens1 type bridge; ip address add 10.20.0.11/24 dev ens1; ip link set ens1 up; ip route add default via 10.20.0.1")
}

func run(t *testing.T, script string) string {
	t.Helper()
	out, err := exec.Command("sh", "-ec", script).CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

// state is the part of a host that a test could change.
func state(t *testing.T) string {
	return run(t, "ip -o link; ip route; ip rule; ip neigh; nft --stateless list ruleset; sysctl net.ipv4.ip_forward; sysctl -a --pattern 'net.ipv4.conf.(all|default|ens1).(forwarding|rp_filter)'")
}

// TestTry: what the host's own rules do to the packets of pods is found, and the rule is named. The
// host is the same afterwards.
func TestTry(t *testing.T) {
	forward := func(rules string) string {
		return "nft 'table ip filter { chain FORWARD { type filter hook forward priority 0; " + rules + "; }; }'"
	}
	const all = 4
	for _, tc := range []struct {
		name, rules string
		lost        int
		says        string // in the losses
		rule        string
	}{
		{"clean", "", 0, "", ""},
		{"forwarding is off", "sysctl -w net.ipv4.ip_forward=0 net.ipv4.conf.default.forwarding=0", 0, "", ""},
		{"strict reverse paths", "sysctl -w net.ipv4.conf.all.rp_filter=1 net.ipv4.conf.default.rp_filter=1", 0, "", ""},
		{"REJECT at the end of FORWARD", forward("ct state related,established counter accept; iifname \"lo\" accept; counter reject with icmp type host-prohibited"), all, "no route to host",
			"chain FORWARD of table ip filter: counter reject with icmp"},
		{"iptables-services",
			"printf '*filter\\n:INPUT ACCEPT [0:0]\\n:FORWARD ACCEPT [0:0]\\n-A FORWARD -j REJECT --reject-with icmp-host-prohibited\\nCOMMIT\\n' | iptables-nft-restore",
			all, "no route to host",
			"chain FORWARD of table ip filter: counter"},
		{"policy drop", forward("policy drop"), all, "no answer", ""},
		{"zones as in firewalld", "nft 'table inet firewalld { chain filter_FORWARD { type filter hook forward priority 10; ct state established,related accept; iifname \"ens1\" accept; " +
			"reject with icmpx type admin-prohibited; }; }'", all, "no route to host", ""},
		{"the pods' subnet is accepted first", forward("ip saddr 10.244.0.0/16 accept; ip daddr 10.244.0.0/16 accept; drop"), 0, "", ""},
		{"UDP alone is dropped", forward("meta l4proto udp counter drop"), 2, "UDP from pod to pod (no answer)", "meta l4proto udp counter drop"},
		{"Service addresses are dropped before the routing",
			"nft 'table ip raw { chain pre { type filter hook prerouting priority -300; ip daddr 10.96.0.0/12 counter drop; }; }'",
			2, "TCP from pod to Service address", "chain pre of table ip raw"},
		{"a rule without a counter", forward("ct state established accept; ip saddr 10.0.0.0/8 ip daddr 10.244.0.0/16 drop; ip daddr 10.96.0.0/12 drop"), all, "no answer",
			`"ip saddr 10.0.0.0/8 ip daddr 10.244.0.0/16 drop" in chain FORWARD of table ip filter`},
		{"Service addresses are dropped before the routing, without a counter",
			"nft 'table ip raw { chain pre { type filter hook prerouting priority -300; ip daddr 10.96.0.0/12 drop; }; }'",
			2, "TCP from pod to Service address", `"ip daddr 10.96.0.0/12 drop" in chain pre of table ip raw`},
		{"by the interface to the pod", forward(`oifname != "ens1" reject`), all, "refused", `"oifname != \"ens1\" reject" in chain FORWARD`},
		{"a rule that nobody understands", forward("meta mark != 0x5 drop"), all, "no answer", ""},
		{"only what comes in through the network card", forward("iifname \"ens1\" drop"), 0, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inHost(t)
			run(t, tc.rules+"\ntrue")
			before := state(t)
			path := Try(t.Context(), host.Local{}, pods, services)
			require.True(t, path.Outcome.Done, "%+v", path)
			assert.Empty(t, path.Outcome.Failed)
			assert.Len(t, path.Lost, tc.lost)
			assert.Contains(t, strings.Join(path.Lost, ", "), tc.says)
			assert.Contains(t, strings.Join(path.Rules, "\n"), tc.rule)
			if tc.rule == "" {
				assert.Empty(t, path.Rules)
			}
			assert.Equal(t, before, state(t))
		})
	}
}

// TestNotTried: a host whose packets could go astray, and one without a pod subnet for it, are left
// alone.
func TestNotTried(t *testing.T) {
	inHost(t)
	assert.Contains(t, Try(t.Context(), host.Local{}, netip.MustParsePrefix("fd00::/48"), services).Outcome.Skipped, "not IPv4")
	run(t, "ip route add 10.244.3.0/24 via 10.20.0.1")
	assert.Contains(t, Try(t.Context(), host.Local{}, pods, services).Outcome.Skipped, "10.244.3.0/24")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	run(t, "ip route del 10.244.3.0/24")
	before := state(t)
	assert.NotEmpty(t, Try(ctx, host.Local{}, pods, services).Outcome.Failed)
	assert.Equal(t, before, state(t))
}

// TestTwo: two processes on one host do not disturb each other.
func TestTwo(t *testing.T) {
	inHost(t)
	inside, err := netns.Get()
	require.NoError(t, err)
	defer inside.Close()
	results := make(chan facts.PodPath, 3)
	for range cap(results) {
		go func() {
			_ = within(inside, func() error {
				results <- Try(t.Context(), host.Local{}, pods, services)
				return nil
			})
		}()
	}
	for range cap(results) {
		path := <-results
		assert.True(t, path.Outcome.Done && path.Outcome.Failed == "" && len(path.Lost) == 0, "%+v", path)
	}
}

// TestKilled: nothing stays of a program that is killed, and an interface of an earlier run does not
// disturb the next one.
func TestKilled(t *testing.T) {
	inHost(t)
	before := state(t)
	self, err := filepath.Abs(os.Args[0])
	require.NoError(t, err)
	for after := range 5 {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), "PODPATH_AGAIN=1")
		require.NoError(t, cmd.Start())
		time.Sleep(time.Duration(60+37*after) * time.Millisecond)
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
	}
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if links, err := netlink.LinkList(); err == nil && len(links) == 2 { // lo and ens1, on this thread
			break
		}
	}
	assert.Equal(t, before, state(t))
	run(t, "ip link add agtry0 type bridge; ip link add agtry1 type veth peer name other")
	path := Try(t.Context(), host.Local{}, pods, services)
	assert.Empty(t, path.Outcome.Failed)
	assert.Empty(t, path.Lost)
	assert.Equal(t, before, state(t))
}

// TestSecondChance: an attempt without an answer is repeated with more time, because the host can be busy. A refusal is not.
func TestSecondChance(t *testing.T) {
	slow, dropped, refused := &attempt{name: "slow"}, &attempt{name: "dropped"}, &attempt{name: "refused"}
	var asked atomic.Int32
	askAll([]*attempt{slow, dropped, refused}, func(a *attempt, limit time.Duration) error {
		asked.Add(1)
		switch {
		case a == refused:
			return syscall.ECONNREFUSED
		case a == slow && limit > patience:
			return nil
		}
		return os.ErrDeadlineExceeded
	})
	if slow.err != nil || !timedOut(dropped.err) || !errors.Is(refused.err, syscall.ECONNREFUSED) || asked.Load() != 5 {
		t.Errorf("slow: %v, dropped: %v, refused: %v; %d questions", slow.err, dropped.err, refused.err, asked.Load())
	}
}
