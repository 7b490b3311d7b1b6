package lab

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// inNamespace runs work in the namespace of the file at path; flag is its type. All other
// threads of this process stay in their namespaces.
func inNamespace(path string, flag int, work func() error) error {
	ns, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer unix.Close(ns)
	return onSeparateThread(func() error {
		if err := unix.Unshare(unix.CLONE_FS); err != nil {
			return fmt.Errorf("unshare: %w", err)
		}
		if err := unix.Setns(ns, flag); err != nil {
			return fmt.Errorf("setns: %w", err)
		}
		return work()
	})
}

// onSeparateThread runs work on a thread that ends after work, so that its namespaces do
// not stay in use. The first thread of the process cannot end, and /proc shows its
// namespaces as those of the process. So if the goroutine is on the first thread, it keeps
// that thread locked and starts another one.
func onSeparateThread(work func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked on the thread that runs work
		if unix.Gettid() == unix.Getpid() {
			defer runtime.UnlockOSThread()
			done <- onSeparateThread(work)
			return
		}
		done <- work()
	}()
	return <-done
}

// Listen listens inside the lab's namespace, at the router's address: the lab's servers can
// reach a program of the outer machine there.
func (n Network) Listen(ctx context.Context) (l net.Listener, err error) {
	err = inNamespace(n.Path(), unix.CLONE_NEWNET, func() (err error) {
		l, err = new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(router.String(), "0"))
		return err
	})
	return l, err
}

// dial connects from inside the lab's namespace. addr is ADDRESS:PORT: another thread,
// outside of the namespace, would resolve a name. It detects a peer that has lost its power
// within half a minute.
func (n Network) dial(ctx context.Context, network, addr string) (conn net.Conn, err error) {
	d := net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 5 * time.Second, Count: 5}}
	err = inNamespace(n.Path(), unix.CLONE_NEWNET, func() (err error) {
		conn, err = d.DialContext(ctx, network, addr)
		return err
	})
	return conn, err
}
