package registry

import (
	"context"
	"errors"
	"slices"
	"sync"
)

const (
	// waitingPerAddress is how many logins of one address wait; one more and the oldest is
	// refused.
	waitingPerAddress = 32
	// waitingInAll bounds what many addresses together keep in memory.
	waitingInAll = 1024
)

// errBusy says that too many logins wait.
var errBusy = errors.New("too many logins are waiting; try again later")

// turns lets a few callers work at a time. The addresses that wait get their turns one after
// the other, so one of them with many requests does not keep another from its login. Of one
// address the newest comes first, so a pile of old requests from a host does not hold back a
// user of that host.
type turns struct {
	mu      sync.Mutex
	free    int
	count   int                     // callers that wait
	waiting map[string][]chan error // by address, in their order; nil when it is a caller's turn
	order   []string                // addresses that wait, the next one first
}

func newTurns() *turns {
	return &turns{free: hashings, waiting: map[string][]chan error{}}
}

// take waits for a turn, which give ends.
func (t *turns) take(ctx context.Context, from string) error {
	turn, err := t.queue(from)
	if turn == nil || err != nil {
		return err
	}
	select {
	case err := <-turn:
		return err
	case <-ctx.Done():
		t.leave(from, turn)
		return ctx.Err()
	}
}

// queue gives nil where it is the caller's turn at once.
func (t *turns) queue(from string) (chan error, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.free > 0 {
		t.free--
		return nil, nil //nolint:nilnil // there is nothing to wait for
	}
	if len(t.waiting[from]) >= waitingPerAddress {
		t.waiting[from][0] <- errBusy
		t.drop(from, 0)
	}
	if t.count >= waitingInAll {
		return nil, errBusy
	}
	if len(t.waiting[from]) == 0 {
		t.order = append(t.order, from)
	}
	turn := make(chan error, 1)
	t.waiting[from] = append(t.waiting[from], turn)
	t.count++
	return turn, nil
}

// give hands the turn to the next address.
func (t *turns) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.order) == 0 {
		t.free++
		return
	}
	from := t.order[0]
	t.order = t.order[1:]
	newest := len(t.waiting[from]) - 1
	t.waiting[from][newest] <- nil
	t.drop(from, newest)
	if len(t.waiting[from]) > 0 {
		t.order = append(t.order, from)
	}
}

// leave takes a caller out of the queue. One whose turn has come meanwhile gives it on.
func (t *turns) leave(from string, turn chan error) {
	t.mu.Lock()
	i := slices.Index(t.waiting[from], turn)
	if i >= 0 {
		t.drop(from, i)
		if len(t.waiting[from]) == 0 {
			t.order = slices.DeleteFunc(t.order, func(other string) bool { return other == from })
		}
	}
	t.mu.Unlock()
	if i < 0 && <-turn == nil {
		t.give()
	}
}

func (t *turns) drop(from string, i int) {
	t.count--
	if t.waiting[from] = slices.Delete(t.waiting[from], i, i+1); len(t.waiting[from]) == 0 {
		delete(t.waiting, from)
	}
}
