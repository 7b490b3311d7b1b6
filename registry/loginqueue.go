package registry

import (
	"context"
	"errors"
	"slices"
	"sync"
)

const (
	// waitingPerAddress is how many logins of one address may wait. One more replaces the oldest.
	waitingPerAddress = 32
	// waitingInAll limits the memory for logins of all addresses.
	waitingInAll = 1024
)

// errBusy reports that too many logins wait.
var errBusy = errors.New("too many logins are waiting; try again later")

// loginQueue limits the number of concurrent logins. The waiting addresses take turns, so that many
// requests of one address do not block a login from another. The newest login of an address comes
// first, so that old requests of a host do not delay a user of that host.
type loginQueue struct {
	mu      sync.Mutex
	free    int
	total   int                     // all waiting callers
	waiting map[string][]chan error // by address, oldest first; a nil error means that the caller may continue
	order   []string                // waiting addresses, the next one first
}

func newLoginQueue() *loginQueue {
	return &loginQueue{free: maxHashings, waiting: map[string][]chan error{}}
}

// acquire waits until the caller may log in. The caller must then call release.
func (t *loginQueue) acquire(ctx context.Context, from string) error {
	ready, err := t.enqueue(from)
	if ready == nil || err != nil {
		return err
	}
	select {
	case err := <-ready:
		return err
	case <-ctx.Done():
		t.leave(from, ready)
		return ctx.Err()
	}
}

// enqueue adds the caller to the queue. It returns a nil channel if the caller may continue at once.
func (t *loginQueue) enqueue(from string) (chan error, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.free > 0 {
		t.free--
		return nil, nil //nolint:nilnil // the caller does not have to wait
	}
	if len(t.waiting[from]) >= waitingPerAddress {
		t.waiting[from][0] <- errBusy
		t.remove(from, 0)
	}
	if t.total >= waitingInAll {
		return nil, errBusy
	}
	if len(t.waiting[from]) == 0 {
		t.order = append(t.order, from)
	}
	ready := make(chan error, 1)
	t.waiting[from] = append(t.waiting[from], ready)
	t.total++
	return ready, nil
}

// release lets the next address continue.
func (t *loginQueue) release() {
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
	t.remove(from, newest)
	if len(t.waiting[from]) > 0 {
		t.order = append(t.order, from)
	}
}

// leave removes a caller from the queue. If the caller may continue by now, leave calls release.
func (t *loginQueue) leave(from string, ready chan error) {
	t.mu.Lock()
	i := slices.Index(t.waiting[from], ready)
	if i >= 0 {
		t.remove(from, i)
		if len(t.waiting[from]) == 0 {
			t.order = slices.DeleteFunc(t.order, func(address string) bool { return address == from })
		}
	}
	t.mu.Unlock()
	if i < 0 && <-ready == nil {
		t.release()
	}
}

func (t *loginQueue) remove(from string, i int) {
	t.total--
	if t.waiting[from] = slices.Delete(t.waiting[from], i, i+1); len(t.waiting[from]) == 0 {
		delete(t.waiting, from)
	}
}
