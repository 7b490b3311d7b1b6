package batches_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/batches"
)

// faults are those of a fleet.
type faults struct {
	down      []string // unavailable workers
	bad       []string // workers that fail
	failures  int      // permitted
	mayErr    error
	mayAfter  int // calls of May before its error
	unlistErr error
}

// fleet is a fleet of workers that take five minutes each. A worker that fails ends just before the others.
type fleet struct {
	faults

	mu     sync.Mutex
	failed []string
	began  []string
	most   int // workers that were unavailable at the same time
	said   []string
}

func (f *fleet) work(hosts string, most int) batches.Work {
	return batches.Work{
		Hosts: strings.Fields(hosts), Max: most, Patience: 10 * time.Minute,
		Unavailable: func(context.Context) ([]string, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			return slices.Clone(f.down), f.unlistErr
		},
		Say: func(format string, args ...any) { f.said = append(f.said, fmt.Sprintf(format, args...)) },
		May: func() error {
			if f.mayAfter--; f.mayAfter < 0 {
				return f.mayErr
			}
			return nil
		},
		Do: f.do,
		Failed: func(host string, err error) error {
			if f.failed = append(f.failed, host); len(f.failed) > f.failures {
				return err
			}
			return nil
		},
	}
}

func (f *fleet) do(ctx context.Context, host string) error {
	f.set(host, true)
	bad := slices.Contains(f.bad, host)
	took := 5 * time.Minute
	if bad {
		took -= time.Millisecond
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(took):
	}
	f.set(host, false)
	if bad {
		return errors.New(host + " is broken")
	}
	return nil
}

func (f *fleet) set(host string, down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = slices.DeleteFunc(f.down, func(name string) bool { return name == host })
	if down {
		f.began = append(f.began, host)
		f.down = append(f.down, host)
		f.most = max(f.most, len(f.down))
	}
}

func TestWork(t *testing.T) {
	for name, tc := range map[string]struct {
		fleet faults
		hosts string
		most  int
		alone bool
		took  time.Duration
		began int
		down  int // at the same time
		err   string
	}{
		"all at the same time":                  {hosts: "a b c d e f", took: 5 * time.Minute, began: 6, down: 6},
		"two at the same time":                  {hosts: "a b c d e f", most: 2, took: 15 * time.Minute, began: 6, down: 2},
		"others are down":                       {fleet: faults{down: []string{"x"}}, hosts: "a b c d", most: 2, took: 20 * time.Minute, began: 4, down: 2},
		"a worker of the batch is down":         {fleet: faults{down: []string{"c"}}, hosts: "a b c d", most: 1, took: 20 * time.Minute, began: 4, down: 1},
		"too many are down":                     {fleet: faults{down: []string{"x", "y"}}, hosts: "a b", most: 2, took: 10 * time.Minute, err: "begin with a: x, y are unavailable, and at most 2"},
		"a failure ends it":                     {fleet: faults{bad: []string{"a"}}, hosts: "a b c d", most: 2, took: 5 * time.Minute, began: 2, down: 2, err: "a is broken"},
		"a permitted failure":                   {fleet: faults{bad: []string{"a"}, failures: 1}, hosts: "a b c d", most: 2, took: 10 * time.Minute, began: 4, down: 2},
		"one failure too many":                  {fleet: faults{bad: []string{"a", "c"}, failures: 1}, hosts: "a b c d", most: 1, took: 15 * time.Minute, began: 3, down: 1, err: "c is broken"},
		"a canary":                              {hosts: "a b c", alone: true, took: 10 * time.Minute, began: 3, down: 2},
		"a canary fails":                        {fleet: faults{bad: []string{"a"}}, hosts: "a b c", alone: true, took: 5 * time.Minute, began: 1, down: 1, err: "a is broken"},
		"the next canary after a permitted one": {fleet: faults{bad: []string{"a"}, failures: 1}, hosts: "a b c d", alone: true, took: 15 * time.Minute, began: 4, down: 2},
		"stopped before the third":              {fleet: faults{mayAfter: 2, mayErr: errors.New("stopped")}, hosts: "a b c d", most: 1, took: 10 * time.Minute, began: 2, down: 1, err: "stopped"},
		"the nodes cannot be listed":            {fleet: faults{unlistErr: errors.New("no answer")}, hosts: "a b", most: 1, err: "no answer"},
		"no host":                               {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := fleet{faults: tc.fleet}
				if f.mayErr == nil {
					f.mayAfter = 100
				}
				w := f.work(tc.hosts, tc.most)
				w.Alone = tc.alone
				began := time.Now()
				err := w.Run(t.Context())
				if tc.err == "" {
					assert.NoError(t, err)
				} else {
					assert.ErrorContains(t, err, tc.err)
				}
				assert.Equal(t, tc.took, time.Since(began).Round(time.Second))
				assert.Len(t, f.began, tc.began)
				assert.Equal(t, tc.down, f.most)
			})
		})
	}
}

// TestPatience: the work waits for workers of others that are down, and says so once.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fleet{faults: faults{down: []string{"x"}, mayAfter: 9}}
		go func() {
			time.Sleep(3*time.Minute - time.Second)
			f.set("x", false)
		}()
		began := time.Now()
		assert.NoError(t, f.work("a", 1).Run(t.Context()))
		assert.Equal(t, 8*time.Minute, time.Since(began))
		assert.Equal(t, []string{"a: wait for x, unavailable: at most 1 worker may be unavailable at the same time (upgrade.maxUnavailable)"}, f.said)
	})
}

// TestTooMany: the hint has the flag.
func TestTooMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fleet{faults: faults{down: []string{"x"}}}
		err := f.work("a", 1).Run(t.Context())
		assert.ErrorContains(t, err, "begin with a: x is unavailable")
		assert.Contains(t, advice.Of(err), "--max-unavailable")
	})
}

// TestCancelled: the end of the context ends all workers, and no other begins.
func TestCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fleet{faults: faults{mayAfter: 9}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		w := f.work("a b c", 2)
		w.Failed = func(string, error) error { return ctx.Err() }
		assert.ErrorIs(t, w.Run(ctx), context.DeadlineExceeded)
		assert.Len(t, f.began, 2)
	})
}
