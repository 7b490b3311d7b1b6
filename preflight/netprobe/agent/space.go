package agent

import (
	"context"
	"net"
	"runtime"

	"github.com/vishvananda/netns"
)

// space is a network namespace, with threads in it: this process cannot enter it later, when it has no
// privileges. A socket stays in the namespace that created it.
type space struct {
	ns     netns.NsHandle
	tasks  chan func()
	closed <-chan struct{}
}

// open starts the threads: one for each host that is tested at a time. They end with ctx.
func (s *space) open(ctx context.Context, a *agent) error {
	s.tasks, s.closed = make(chan func()), ctx.Done()
	for range atOnce {
		entered := make(chan error, 1)
		a.background(ctx, func(ctx context.Context) {
			entered <- enter(s.ns, func() error {
				entered <- nil
				for {
					select {
					case task := <-s.tasks:
						task()
					case <-ctx.Done():
						return nil
					}
				}
			})
		})
		if err := <-entered; err != nil {
			return err
		}
	}
	return nil
}

// within runs do in the namespace.
func (s *space) within(do func() error) error {
	done := make(chan error, 1)
	select {
	case s.tasks <- func() { done <- do() }:
		return <-done
	case <-s.closed:
		return net.ErrClosed
	}
}

// enter runs do in a namespace, on a separate thread.
func enter(ns netns.NsHandle, do func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		err := netns.Set(ns)
		if err == nil {
			err = do()
		}
		done <- err
	}()
	return <-done
}
