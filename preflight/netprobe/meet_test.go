package netprobe

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netns"
)

func TestCode(t *testing.T) {
	code := NewCode()
	token, err := ParseCode(code)
	if err != nil {
		t.Fatal(err)
	}
	typed, err := ParseCode(" " + strings.ToUpper(strings.ReplaceAll(code, "-", " ")) + "\r\n")
	if err != nil || typed != token {
		t.Errorf("another notation gives another token: %v", err)
	}
	for _, wrong := range []string{"", "zzzzz", "abcde-fghij-klmno-pqrs1", code + "a"} {
		if _, err := ParseCode(wrong); err == nil || wrong != "" && strings.Contains(err.Error(), wrong) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

// meeting runs three hosts. The first one waits for the others.
func meeting(t *testing.T, codes [3]string) (links map[int]Link, refused, said []string) {
	t.Helper()
	n := newNetwork(t, 3)
	plan := n.plan()
	var err error
	if plan.Token, err = ParseCode(codes[0]); err != nil {
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
	links, err = Meet(t.Context(), &plan, listener, enough.Done(), func(int) {}, func(err error) { refused = append(refused, err.Error()) })
	if err != nil {
		t.Fatal(err)
	}
	a := n.start(t.Context(), 0)
	links[0] = Link{a.in, a.out}
	reports, lost := Coordinate(t.Context(), plan, links, func(string) {})
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
		err = (&overlay{ns: space}).within(do)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestMeet(t *testing.T) {
	t.Parallel()
	code := NewCode()
	links, refused, said := meeting(t, [3]string{code, code, code})
	if len(links) != 3 || len(refused) > 0 || strings.Join(said, "") != "" {
		t.Errorf("%d links, refused %q, said %q", len(links), refused, said)
	}
}

func TestMeetRefuses(t *testing.T) {
	t.Parallel()
	code := NewCode()
	links, refused, said := meeting(t, [3]string{code, code, NewCode()})
	if len(links) != 2 || len(refused) != 1 || !strings.Contains(refused[0], "reject connection from h2 (10.99.0.3)") {
		t.Errorf("%d links, refused %q", len(links), refused)
	}
	if said[1] != "" || !strings.Contains(said[2], "the code is wrong") {
		t.Errorf("said %q", said)
	}
}

// TestMeetAgain starts the agent of the last host twice at the same time.
func TestMeetAgain(t *testing.T) {
	t.Parallel()
	plan := Plan{Token: NewToken(), Hosts: []Host{{Name: "h0", Address: netip.MustParseAddr("127.0.0.2")}, {Name: "h1", Address: netip.MustParseAddr("127.0.0.1")}}}
	config, err := plan.Token.identity()
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	join := func() {
		conn, err := tls.Dial("tcp4", listener.Addr().String(), config)
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { conn.Close() })
	}
	var first sync.WaitGroup
	defer first.Wait()
	first.Go(join)
	var again sync.Once
	links, err := Meet(t.Context(), &plan, listener, nil, func(int) {
		again.Do(func() {
			join()
			time.Sleep(100 * time.Millisecond) // until the listener has accepted it
		})
	}, func(error) {})
	if err != nil || len(links) != 1 || links[1].In == nil {
		t.Errorf("%d links, %v", len(links), err)
	}
}
