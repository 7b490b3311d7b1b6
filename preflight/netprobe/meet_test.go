package netprobe

import (
	"crypto/tls"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"
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

// TestMeetAgain starts the agent of the last host twice at the same time.
func TestMeetAgain(t *testing.T) {
	t.Parallel()
	plan := Plan{Token: NewToken(), Hosts: []Host{{Name: "h0", Address: netip.MustParseAddr("127.0.0.2")}, {Name: "h1", Address: netip.MustParseAddr("127.0.0.1")}}}
	config, err := plan.Token.Identity()
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
