package lab

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"syscall"
)

// A Machine is one server of the site. Scenarios use only this interface, so that the same
// scenario runs on a container, on an emulated machine or over SSH. A method that a machine
// does not support returns errors.ErrUnsupported, and the scenario skips that part.
type Machine interface {
	// Name is the host name. It is unique in its lab.
	Name() string

	// Addr is the address for the other servers.
	Addr() netip.Addr

	// Exec runs a command as root and waits for it. If the exit code is not 0, the
	// error is an *ExitError.
	Exec(ctx context.Context, cmd Cmd) error

	// AttachStick makes the directory dir of the outer machine readable at StickPath,
	// like a USB stick: read-only, nosuid, nodev. PullStick, Kill and Close remove it.
	AttachStick(ctx context.Context, dir string) error

	// AttachEmptyStick attaches a new stick of size bytes and mounts it writable at
	// StickPath. filesystem is vfat (FAT32) or exfat. Only a machine with a separate
	// kernel supports it.
	AttachEmptyStick(ctx context.Context, filesystem string, size int64) error

	// ReplugStick attaches the stick of AttachEmptyStick again after PullStick, with
	// its data.
	ReplugStick(ctx context.Context) error

	// PullStick removes the stick, also while programs read from it.
	PullStick(ctx context.Context) error

	// Start boots the machine and returns after systemd has finished booting, even if
	// units failed. The disk has the content from before the last Kill.
	Start(ctx context.Context) error

	// Kill is a power cut: no process can shut down cleanly.
	Kill(ctx context.Context) error

	// Close removes the machine and its disk. It may be called several times.
	Close(ctx context.Context) error
}

// StickPath is the mount point of the stick on a machine.
const StickPath = "/run/media/stick"

// Cmd is a command for a Machine.
type Cmd struct {
	Args []string // program, looked up in root's PATH, and its arguments
	Env  []string // KEY=VALUE, in addition to a root login's environment
	Dir  string   // working directory, /root if empty

	Stdin          io.Reader // empty if nil
	Stdout, Stderr io.Writer // discarded if nil, except the tail in ExitError

	// Cancel is the signal to the command when the context ends; zero means SIGKILL. A
	// command that ignores it is killed ten seconds later.
	Cancel syscall.Signal
}

// ExitError reports that a command on a machine did not exit with 0.
type ExitError struct {
	Machine string
	Args    []string
	Code    int    // exit status; 128 plus the signal's number if a signal ended the command
	Stderr  string // the last lines, at most 2 KiB
}

func (e *ExitError) Error() string {
	msg := fmt.Sprintf("%s on %s: exit status %d", strings.Join(e.Args, " "), e.Machine, e.Code)
	if e.Stderr != "" {
		msg += ": " + e.Stderr
	}
	return msg
}
