package fleet

import (
	"fmt"
	"sync"
	"time"

	"airgap.dev/airgap/internal/batches"
	"airgap.dev/airgap/internal/ui"
)

// estimate says how long the joins of other hosts take, from the times of the first ones. It counts only new hosts: the
// update of a node takes less time.
type estimate struct {
	what     string // "worker"
	parallel int
	say      func(format string, args ...any)

	mu    sync.Mutex
	times batches.Times
	left  int // hosts that have not ended
	ended int // since the last estimate
}

func newEstimate(what string, members []*Member, parallel int, say func(string, ...any)) *estimate {
	e := &estimate{what: what, parallel: max(1, parallel), say: say, ended: parallel} // the first one says it
	for _, m := range members {
		if !m.Joined {
			e.left++
		}
	}
	return e
}

// joined takes the time of a host that has joined.
func (e *estimate) joined(m *Member, took time.Duration) {
	if m.Joined {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.times.Add(took)
	e.left--
	if e.ended++; e.left == 0 || e.ended < e.parallel {
		return
	}
	e.ended = 0
	how := "one at a time"
	if e.parallel > 1 {
		how = fmt.Sprintf("%d at a time", e.parallel)
	}
	e.say("about %s left for %s, %s", batches.About(e.times.Left((e.left+e.parallel-1)/e.parallel)), ui.Count(e.left, e.what), how)
}

// failed takes a host that has not joined.
func (e *estimate) failed(m *Member) {
	if m.Joined {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.left--
}
