package remote

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"airgap.dev/airgap/internal/remote/sshtest"
)

// TestBusySSHD: sshd ends some connections before its version. airgap waits and tries again, and says why.
func TestBusySSHD(t *testing.T) {
	key := sshtest.NewKey(t)
	for name, tc := range map[string]struct {
		times      int
		text       string
		want, hint string
	}{
		"three times":       {3, "Exceeded MaxStartups\r\n", "", ""},
		"without a word":    {2, "", "", ""},
		"always":            {1000, "Exceeded MaxStartups\r\n", "sshd ended the connection before the login, 6 times in 0 s: Exceeded MaxStartups", "raise MaxStartups"},
		"a penalty":         {1000, "Not allowed at this time\r\n", "6 times in 0 s: Not allowed at this time", "PerSourcePenaltyExemptList"},
		"always, no reason": {1000, "", "sshd ended the connection before the login, 6 times in 0 s: ssh: handshake failed: ", "journalctl -u sshd on node2"},
	} {
		t.Run(name, func(t *testing.T) {
			account := &sshtest.Account{Password: "hunter2"}
			s := sshtest.Serve(t, account.Setup, key)
			d := trusting(t, s, key)
			d.Pause = time.Millisecond
			var mu sync.Mutex
			var doing []string
			d.Doing = func(h Host, what string) {
				mu.Lock()
				defer mu.Unlock()
				doing = append(doing, h.Name+": "+what)
			}
			s.TurnAway(tc.times, tc.text)
			c, err := d.Dial(t.Context(), hostAt(s), "hunter2")
			if tc.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				c.Close()
				if len(doing) != tc.times || !strings.Contains(doing[0], "node2: sshd, which takes no login now (") || !strings.Contains(doing[0], "attempt 1 of 6") ||
					!strings.Contains(doing[0], strings.TrimSpace(tc.text)) {
					t.Errorf("waits: %q", doing)
				}
				return
			}
			busy, is := errors.AsType[*BusyError](err)
			if !is || !strings.Contains(err.Error(), tc.want) || !strings.Contains(busy.Hint(), tc.hint) || s.Connections() != busyTries {
				t.Errorf("%d connections: %v\nhint: %s", s.Connections(), err, hintOf(err))
			}
			if len(account.Tried()) != 0 {
				t.Errorf("it got passwords: %q", account.Tried())
			}
		})
	}
}

// TestPauses: the pauses grow, stay below a limit, and differ between hosts. A penalty is at least 15 s long.
func TestPauses(t *testing.T) {
	busy, penalty := &BusyError{Said: "Exceeded MaxStartups"}, &BusyError{Said: "Not allowed at this time"}
	different := map[time.Duration]bool{}
	for n := range busyTries {
		for range 20 {
			p := busy.pause(n, busyPause)
			different[p] = true
			if lo, hi := busyPause<<n/2, min(busyPause<<n, maxPause)*3/2; p < min(lo, maxPause/2) || p > hi {
				t.Errorf("pause %d is %s, want %s to %s", n, p, lo, hi)
			}
			if p := penalty.pause(n, busyPause); p < shortPenalty/2 || p > maxPause*3/2 {
				t.Errorf("pause %d of a penalty is %s", n, p)
			}
		}
	}
	if len(different) < 50 {
		t.Errorf("only %d different pauses", len(different))
	}
}
