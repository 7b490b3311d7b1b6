// Package host is the seam between airgap and the machine it runs on: a file
// system to read facts from, commands to run, files to write.
//
// Facts flow in through Host, which a test replaces by a recorded machine
// (an fstest.MapFS and recorded command output). Changes flow out through
// WriteFile, which is atomic and durable, and through commands.
//
// The package does not decide and does not print: preflight interprets facts,
// and the steps decide about changes.
package host

import (
	"context"
	"io/fs"
	"os"
)

// Host is a machine to read facts from and run commands on.
type Host interface {
	// FS is the machine's file system rooted at "/": "etc/os-release".
	FS() fs.FS
	// Run runs cmd to its end and returns its standard output, unless that
	// goes to its log or to its Stdout. A command that cannot be started or exits non-zero gives a *CommandError.
	Run(ctx context.Context, cmd Cmd) ([]byte, error)
}

// Local is the machine this process runs on.
type Local struct{}

// FS is the root file system. os.DirFS follows symbolic links as open(2) does.
func (Local) FS() fs.FS { return os.DirFS("/") }

// Run runs cmd on this machine.
func (Local) Run(ctx context.Context, cmd Cmd) ([]byte, error) { return cmd.run(ctx) }
