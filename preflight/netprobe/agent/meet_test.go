package agent

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netns"

	"airgap.dev/airgap/preflight/netprobe"
)

// meeting runs three hosts. The first one waits for the others.
func meeting(t *testing.T, codes [3]string) (links map[int]netprobe.Link, refused, said []string) {
	t.Helper()
	n := newNetwork(t, 3)
	plan := n.plan()
	var err error
	if plan.Token, err = netprobe.ParseCode(codes[0]); err != nil {
		t.Fatal(err)
	}
	at := netip.AddrPortFrom(n.hosts[0].Address, 6443).String()
	var listener net.Listener
	inside(t, n, 0, func() (err error) { listener, err = net.Listen("tcp4", at); return err })
	var ends sync.WaitGroup
	said = make([]string, 3)
	for i := 1; i < 3; i++ {
		cmd := n.agent(t.Context(), i, at)
		cmd.Stdin = strings.NewReader(codes[i])
		ends.Go(func() {
			out, _ := cmd.CombinedOutput()
			said[i] = string(out)
		})
	}
	enough, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	links, err = netprobe.Meet(t.Context(), &plan, listener, enough.Done(), func(int) {}, func(err error) { refused = append(refused, err.Error()) })
	if err != nil {
		t.Fatal(err)
	}
	a := n.start(t.Context(), 0)
	links[0] = netprobe.Link{In: a.in, Out: a.out}
	reports, lost := netprobe.Coordinate(t.Context(), plan, links, func(string) {})
	if err := a.cmd.Wait(); err != nil || len(lost) > 0 || len(reports) != len(links) {
		t.Errorf("%d reports of %d hosts, lost %v, %v\n%s", len(reports), len(links), lost, err, &a.stderr)
	}
	ends.Wait()
	return links, refused, said
}

func inside(t *testing.T, n *network, host int, do func() error) {
	t.Helper()
	space, err := netns.GetFromName(n.space(host))
	if err == nil {
		err = enter(space, do)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestMeet(t *testing.T) {
	t.Parallel()
	code := netprobe.NewCode()
	links, refused, said := meeting(t, [3]string{code, code, code})
	if len(links) != 3 || len(refused) > 0 || strings.Join(said, "") != "" {
		t.Errorf("%d links, refused %q, said %q", len(links), refused, said)
	}
}

func TestMeetRefuses(t *testing.T) {
	t.Parallel()
	code := netprobe.NewCode()
	links, refused, said := meeting(t, [3]string{code, code, netprobe.NewCode()})
	if len(links) != 2 || len(refused) != 1 || !strings.Contains(refused[0], "reject connection from h2 (10.99.0.3)") {
		t.Errorf("%d links, refused %q", len(links), refused)
	}
	if said[1] != "" || !strings.Contains(said[2], "the code is wrong") {
		t.Errorf("said %q", said)
	}
}
