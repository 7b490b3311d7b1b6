package upgrade

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/hostrange"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
)

// operator runs the commands that airgap shows, on all their hosts.
type operator struct {
	ui.Progress
	work func(name string)

	mu    sync.Mutex
	shown []string // the hosts of each command
}

func (o *operator) Say(format string, args ...any) {
	text, is := strings.CutPrefix(fmt.Sprintf(format, args...), "on ")
	if !is {
		return
	}
	hosts, _, _ := strings.Cut(text, ", with this bundle's")
	o.mu.Lock()
	o.shown = append(o.shown, hosts)
	o.mu.Unlock()
	names, err := hostrange.Expand(hosts)
	if err != nil {
		panic(err)
	}
	for _, name := range names {
		go o.work(name)
	}
}

// TestByHandInBatches: without SSH, airgap shows one command for each batch, with the hosts as ranges.
func TestByHandInBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, few)
		u, steps := w.begin(Pace{Batch: "3"})
		o := &operator{Progress: ui.Discard(), work: func(name string) {
			n, err := w.config.Node(name)
			assert.NoError(t, err)
			assert.NoError(t, w.change(t.Context(), n))
		}}
		u.p, u.changing = o, nil
		_, err := step.Run(t.Context(), u.journal, steps, func(step.Event) {})
		u.pace.end()
		require.NoError(t, err)
		assert.Len(t, w.upgraded(), 7)
		assert.Equal(t, []string{"w1", "w[2-4]", "w[5-7]"}, o.shown)
	})
}

// TestSlowDrain: a slow drain does not keep the user from the other hosts of the batch, and a failed one is not waited
// for.
func TestSlowDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var mu sync.Mutex
		var shown []string
		h := &handwork{ready: map[string]bool{}, waiting: map[string]bool{}, order: []config.Node{{Name: "w1"}, {Name: "w2"}, {Name: "w3"}, {Name: "w4"}}}
		h.status = func(string) {}
		h.show = func(nodes []config.Node) {
			mu.Lock()
			defer mu.Unlock()
			shown = append(shown, fmt.Sprintf("%s after %s", hostrange.Join(namesOf(nodes)), time.Since(began)))
		}
		var all sync.WaitGroup
		for name, drain := range map[string]time.Duration{"w1": time.Second, "w2": 3 * time.Second, "w3": 10 * time.Minute, "w4": 12 * time.Minute} {
			all.Go(func() {
				_ = h.during(name, func() error {
					time.Sleep(drain)
					if name == "w4" {
						return context.DeadlineExceeded
					}
					h.drained(name)
					time.Sleep(time.Hour)
					return nil
				})
			})
		}
		all.Wait()
		h.close()
		assert.Equal(t, []string{"w[1-2] after 31s", "w3 after 10m30s"}, shown)
	})
}
