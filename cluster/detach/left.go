package detach

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"airgap.dev/airgap/internal/host"
)

// Left is a command that airgap on another host started and that still runs.
type Left struct {
	Name  string    `json:"name"`
	Since time.Time `json:"since"`
}

// LeftHere returns such a command of this host, or nil.
func LeftHere(m host.Machine) *Left {
	all := connectAll(m)
	defer closeAll(all)
	for _, conn := range all {
		if s := conn.state; s.Run != "" && s.Ended.IsZero() {
			return &Left{s.Name, s.Since}
		}
	}
	return nil
}

// Await waits until no such command runs on this host. It leaves the results.
func Await(ctx context.Context) error { return await(ctx, host.Machine{Host: host.Local{}}) }

func await(ctx context.Context, m host.Machine) error {
	all := connectAll(m)
	defer closeAll(all)
	for _, conn := range all {
		if conn.state.Run == "" || !conn.state.Ended.IsZero() {
			continue
		}
		stop := context.AfterFunc(ctx, func() { conn.Close() })
		err := conn.end()
		stop()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && connects(socketOf(m, conn.state.Name)) {
			return fmt.Errorf("wait for unit %s: %w", unitOf(conn.state.Name), err)
		}
	}
	return nil
}

// end reads until the command ends.
func (c *connection) end() error {
	f, err := encoded(attachFrame, host.Size{})
	if err == nil {
		err = f.write(c)
	}
	for err == nil && f.kind != exitFrame {
		f, err = readFrame(c.in)
	}
	return err
}

// Seen ends the unit of a command, because the client of this run has the result.
func Seen(name, run string) error { return seen(host.Machine{Host: host.Local{}}, name, run) }

func seen(m host.Machine, name, run string) error {
	conn, err := connect(socketOf(m, name))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return nil // it has ended
	}
	if err != nil {
		return fmt.Errorf("connect to unit %s: %w", unitOf(name), err)
	}
	defer conn.Close()
	if conn.state.Run != run {
		return nil
	}
	if err := (frame{dropFrame, nil}).write(conn); err != nil {
		return fmt.Errorf("end unit %s: %w", unitOf(name), err)
	}
	return nil
}

// Sweep removes the results that no client has shown, and the sockets of units that were killed.
func Sweep(m host.Machine) {
	sweepSockets(m)
	all := connectAll(m)
	defer closeAll(all)
	for _, conn := range all {
		if !conn.state.Ended.IsZero() {
			_ = frame{dropFrame, nil}.write(conn)
		}
	}
	_ = os.Remove(m.Path(runDir)) // unless a command runs
}

// newSocket is the age below which a socket may not be listening yet.
const newSocket = time.Minute

func sweepSockets(m host.Machine) {
	paths, _ := filepath.Glob(filepath.Join(m.Path(runDir), "*.sock")) // the pattern is good
	for _, path := range paths {
		if info, err := os.Lstat(path); err == nil && time.Since(info.ModTime()) > newSocket && !connects(path) {
			_ = os.Remove(path)
		}
	}
}

func connects(path string) bool {
	conn, err := connect(path)
	if err == nil {
		conn.Close()
	}
	return !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, os.ErrNotExist)
}

func closeAll(all []*connection) {
	for _, conn := range all {
		if conn != nil {
			conn.Close()
		}
	}
}
