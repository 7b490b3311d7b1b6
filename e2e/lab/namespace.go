package lab

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// inNamespace runs work in a namespace of the kind that flag names, which the
// file at path stands for. Nothing else of this process goes there.
func inNamespace(path string, flag int, work func() error) error {
	ns, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer unix.Close(ns)
	return onThreadOfItsOwn(func() error {
		if err := unix.Unshare(unix.CLONE_FS); err != nil {
			return fmt.Errorf("unshare: %w", err)
		}
		if err := unix.Setns(ns, flag); err != nil {
			return fmt.Errorf("setns: %w", err)
		}
		return work()
	})
}

// onThreadOfItsOwn runs work on a thread that ends with it, wherever work took
// it. The process's first thread cannot end, and stands for the process in
// /proc: it is held while another does the work.
func onThreadOfItsOwn(work func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked on the thread that works
		if unix.Gettid() == unix.Getpid() {
			defer runtime.UnlockOSThread()
			done <- onThreadOfItsOwn(work)
			return
		}
		done <- work()
	}()
	return <-done
}

// Listen is a listener inside the lab's namespace, at the router's address: a
// server of the outer machine that serves there can be reached by the lab's.
func (n Network) Listen(ctx context.Context) (l net.Listener, err error) {
	err = inNamespace(n.Path(), unix.CLONE_NEWNET, func() (err error) {
		l, err = new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(router.String(), "0"))
		return err
	})
	return l, err
}

// dial connects from inside the lab's namespace. addr is an address with a
// port: a name would be asked for on another thread, outside. A peer that
// loses its power is noticed within half a minute.
func (n Network) dial(ctx context.Context, network, addr string) (conn net.Conn, err error) {
	d := net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 5 * time.Second, Count: 5}}
	err = inNamespace(n.Path(), unix.CLONE_NEWNET, func() (err error) {
		conn, err = d.DialContext(ctx, network, addr)
		return err
	})
	return conn, err
}
