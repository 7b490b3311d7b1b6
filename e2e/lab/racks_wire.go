package lab

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// maxFrame is a frame with the largest IP packet, and the header with its offloads.
const maxFrame = 1<<16 + 64

// Wire makes a namespace with two interfaces carry the frames between them like a wire, each one
// after a delay: delay gets the number of the frame, and is called for each direction. A frame
// with a shorter delay than an earlier one overtakes it. The kernel of this lab has no tc netem.
func (r *Racks) Wire(ctx context.Context, name string, interfaces [2]string, delay func(n int) time.Duration) error {
	var ends [2]int
	for i, ifi := range interfaces {
		if err := r.within(name, func() (err error) {
			ends[i], err = openWire(ifi)
			return err
		}); err != nil {
			return fmt.Errorf("make a wire of %s: %w", name, err)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{}, len(ends))
	for i := range ends {
		go func() {
			copyFrames(ctx, ends[i], ends[1-i], delay)
			done <- struct{}{}
		}()
	}
	r.ends = append(r.ends, func() error {
		cancel()
		for range ends {
			<-done
		}
		return errors.Join(unix.Close(ends[0]), unix.Close(ends[1]))
	})
	return nil
}

// openWire opens a socket for all frames of an interface, with their offloads.
func openWire(name string) (int, error) {
	ifi, err := net.InterfaceByName(name)
	if err != nil {
		return 0, err
	}
	socket, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	all := binary.BigEndian.Uint16(binary.NativeEndian.AppendUint16(nil, unix.ETH_P_ALL))
	const poll = 100 * 1000 // microseconds, after which copyFrames reads its context
	return socket, errors.Join(
		unix.SetsockoptInt(socket, unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1),
		unix.SetsockoptInt(socket, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1),
		unix.SetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: poll}),
		unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 16<<20),
		unix.Bind(socket, &unix.SockaddrLinklayer{Protocol: all, Ifindex: ifi.Index}))
}

// urgent is the nice value of the threads of a wire: on a busy machine, a wire is as fast as on an
// idle one.
const urgent = -15

// copyFrames reads frames until ctx ends.
func copyFrames(ctx context.Context, from, to int, delay func(n int) time.Duration) {
	type frame struct {
		data []byte
		due  time.Time
	}
	send := func(f frame) {
		time.Sleep(time.Until(f.due))
		_, _ = unix.Write(to, f.data) // the interface may be full: the frame is lost
	}
	runtime.LockOSThread() // never unlocked: the thread ends with its priority
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, urgent)
	inOrder := make(chan frame, 1<<14)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		runtime.LockOSThread()
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, urgent)
		for f := range inOrder {
			send(f)
		}
	}()
	buf := make([]byte, maxFrame)
	var last time.Time
	for n := 0; ctx.Err() == nil; n++ {
		size, err := unix.Read(from, buf)
		if err != nil {
			continue // no frame, or the interface is down for a moment
		}
		f := frame{append([]byte(nil), buf[:size]...), time.Now().Add(delay(n))}
		if f.due.Before(last) { // it overtakes
			go send(f)
			continue
		}
		last = f.due
		select {
		case inOrder <- f:
		default: // the queue is full: the frame is lost
		}
	}
	close(inOrder)
	<-sent
}
