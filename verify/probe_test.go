package verify

import (
	"context"
	"sync/atomic"
	"testing"
	"time"
)

// No run waits for a probe: its rule is not ok until it answers.
func TestProbe(t *testing.T) {
	var asked atomic.Int32
	p := newProbed(Probe{ID: "x", Title: "X is ok", Ask: func(context.Context) []Finding {
		if asked.Add(1) == 1 {
			return []Finding{{Object: "X", Saw: "bad", Want: "good"}}
		}
		return nil
	}})
	judge := p.rule().judge
	if f := judge(view{}); len(f) != 1 || f[0].Saw != "no answer yet" {
		t.Errorf("before the first answer: %v", f)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var seen []int
	p.run(ctx, func() {
		seen = append(seen, len(judge(view{})))
		if len(seen) == 2 {
			cancel()
		}
	})
	if len(seen) != 2 || seen[0] != 1 || seen[1] != 0 {
		t.Errorf("findings after the answers: %v", seen)
	}
}
