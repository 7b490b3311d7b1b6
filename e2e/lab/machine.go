package lab

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"syscall"
)

// A Machine is one bank server. Scenarios know no other way to touch one, so
// that the same scenario runs on a container, on an emulated machine or over
// SSH. A machine that cannot do something returns errors.ErrUnsupported and
// the scenario skips that part.
type Machine interface {
	// Name is the host name, unique in its lab.
	Name() string

	// Addr is the address the other servers reach it at.
	Addr() netip.Addr

	// Exec runs a command as root and waits for it. A command that ran and
	// did not exit with 0 gives an *ExitError.
	Exec(ctx context.Context, cmd Cmd) error

	// AttachStick makes the directory dir of the outer machine readable at
	// StickPath, as a USB stick would be: read-only, nosuid, nodev. It is gone
	// after PullStick, Kill or Close.
	AttachStick(ctx context.Context, dir string) error

	// AttachEmptyStick plugs in a new stick of size bytes and mounts it at
	// StickPath to be written to. The file system is vfat, which is FAT32 then, or
	// exfat. Only a machine with a kernel of its own can do that.
	AttachEmptyStick(ctx context.Context, filesystem string, size int64) error

	// ReplugStick plugs in again, as it is, the empty stick that was pulled.
	ReplugStick(ctx context.Context) error

	// PullStick takes the stick away without asking who is reading from it.
	PullStick(ctx context.Context) error

	// Start switches the machine on and returns once systemd has finished
	// booting, whether or not every unit came up. Its disk is as the last Kill
	// left it.
	Start(ctx context.Context) error

	// Kill is a power cut: no process gets to say goodbye.
	Kill(ctx context.Context) error

	// Close takes the machine and its disk out of the world. A closed machine
	// may be closed again.
	Close(ctx context.Context) error
}

// StickPath is where a machine sees the stick.
const StickPath = "/run/media/stick"

// Cmd is a command for a Machine.
type Cmd struct {
	Args []string // program, looked up in root's PATH, and its arguments
	Env  []string // KEY=VALUE, on top of a root login's environment
	Dir  string   // working directory, /root when empty

	Stdin          io.Reader // nothing to read when nil
	Stdout, Stderr io.Writer // discarded when nil, but for the tail in ExitError

	// Cancel is sent to the command when the context ends, SIGKILL when zero.
	// What does not heed it is killed ten seconds later.
	Cancel syscall.Signal
}

// ExitError says that a command ran on a machine and was not content.
type ExitError struct {
	Machine string
	Args    []string
	Code    int    // exit status; 128 plus the signal's number if one ended it
	Stderr  string // the last lines, at most 2 KiB
}

func (e *ExitError) Error() string {
	msg := fmt.Sprintf("%s on %s: exit status %d", strings.Join(e.Args, " "), e.Machine, e.Code)
	if e.Stderr != "" {
		msg += ": " + e.Stderr
	}
	return msg
}
