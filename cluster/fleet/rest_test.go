package fleet

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// TestRestOfAnInterruptedRun: a host still runs the join of an interrupted run. A second run waits for its end, names it,
// and then continues. A command that does not wait goes on at once.
func TestRestOfAnInterruptedRun(t *testing.T) {
	t.Parallel() // it waits for knockAgain
	f, m, s, _ := enrolling(t)
	busy := s.Path("busy")
	s.Program(t, "airgap", `if [ -e `+busy+` ]; then rm `+busy+`; echo '{"joined": false, "busy": "airgap join (process 12)"}'; else echo '{"joined": true}'; fi`)
	for _, awaits := range []bool{false, true} {
		if err := os.WriteFile(busy, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		f.awaitsBusy = awaits
		here, err := atRest(t.Context(), f, m)
		if err != nil || here.Joined != awaits {
			t.Errorf("awaits %t: %+v, %v", awaits, here, err)
		}
	}
	if text, err := os.ReadFile(m.log.file.Name()); err != nil || !strings.Contains(string(text), "waiting for airgap join (process 12) of an interrupted run until ") {
		t.Errorf("the log has %q, %v", text, err)
	}

	s.Program(t, "airgap", `echo '{"busy": "airgap join (process 12)"}'`)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for {
			if a := m.activity.Load(); a != nil && strings.HasSuffix(a.what, "interrupted run") {
				cancel()
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	b := &bank{Fleet: f}
	f.eachShown(ctx, f.console.Progress(), "Check the other hosts", f.Members, func(ctx context.Context, m *Member) error {
		_, err := atRest(ctx, f, m)
		return err
	})
	const want = "Check the other hosts: 0 of 1; waiting for node2 (airgap join (process 12) of an interrupted run) for 0 s"
	if !errors.Is(m.Err, context.Canceled) || !strings.Contains(b.said(), want) {
		t.Errorf("got %v, said %s", m.Err, b.said())
	}
}
