package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"airgap.dev/airgap/cluster/fleet/choice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/internal/ui/uitest"
)

// TestCanary: of many new workers the first joins alone, and its failure leaves the others untouched. A few join at the
// same time.
func TestCanary(t *testing.T) {
	for name, tc := range map[string]struct {
		joined, fresh int
		fails         bool   // each first worker of a call
		most          int    // --max-failures
		calls         string // the workers of each call
		untouched     int
		says          string
	}{
		"a few":                   {0, 5, false, 0, "5", 0, ""},
		"a few, one fails":        {0, 5, true, 0, "5", 0, ""},
		"many":                    {0, 6, false, 0, "1 5", 0, "w1 joins first, alone; then 5 workers join at the same time"},
		"many, it fails":          {0, 6, true, 0, "1", 5, "w1 joins first, alone"},
		"many to add":             {3, 50, false, 0, "1 52", 0, "w4 joins first, alone"},
		"many to add, it fails":   {3, 50, true, 0, "1", 52, "w4 joins first, alone"},
		"two may fail":            {0, 9, true, 2, "1 1 1", 6, "w3 joins first, alone"},
		"one fails, few are left": {0, 6, true, 3, "1 5", 0, "w1 joins first, alone"},
		"a few to add":            {300, 2, false, 0, "302", 0, ""},
		"none":                    {0, 0, false, 0, "0", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var workers []*Member
			for i := range tc.joined + tc.fresh {
				workers = append(workers, &Member{Node: config.Node{Name: fmt.Sprintf("w%d", i+1)}, Joined: i < tc.joined})
			}
			var calls []string
			said := &uitest.Recorder{Progress: ui.Discard()}
			f := &Fleet{Members: workers, Policy: &Policy{choice: choice.Choice{MaxFailures: tc.most}}}
			untouched := joinWorkers(t.Context(), f, workers, said, func(some []*Member) {
				calls = append(calls, fmt.Sprint(len(some)))
				if tc.fails && len(some) > 0 {
					f.Policy.joining.Add(1)
					some[0].Err = errors.New("no space left")
				}
			})
			assert.Equal(t, tc.calls, strings.Join(calls, " "))
			assert.Len(t, untouched, tc.untouched)
			text := strings.Join(said.Said, "\n")
			assert.Contains(t, text, tc.says)
			assert.Equal(t, tc.says == "", text == "")
		})
	}
}

// TestCanaryInterrupted: after the end of the context no other worker is touched.
func TestCanaryInterrupted(t *testing.T) {
	var workers []*Member
	for i := range 6 {
		workers = append(workers, &Member{Node: config.Node{Name: fmt.Sprintf("w%d", i+1)}})
	}
	ctx, cancel := context.WithCancel(t.Context())
	said := &uitest.Recorder{Progress: ui.Discard()}
	f := &Fleet{Members: workers, Policy: &Policy{choice: choice.Choice{MaxFailures: 3}}}
	untouched := joinWorkers(ctx, f, workers, said, func(some []*Member) {
		cancel()
		some[0].Err = ctx.Err()
	})
	assert.Len(t, untouched, 5)
}

// TestProblemsOfUntouchedWorkers: the workers that were not started have one line.
func TestProblemsOfUntouchedWorkers(t *testing.T) {
	f := &Fleet{Policy: &Policy{}}
	for i := range 300 {
		f.Members = append(f.Members, &Member{Node: config.Node{Name: fmt.Sprintf("w%03d", i+1)}})
	}
	joinWorkers(t.Context(), f, f.Members, ui.Discard(), func(some []*Member) { some[0].Err = errors.New("no space left") })
	err := f.Problems(t.Context(), "did not join", "fix it")
	assert.EqualError(t, err, "300 of 300 other hosts: did not join\n  w001: no space left\n  w[002-300]: not started, because w001, the first worker, did not join")
}
