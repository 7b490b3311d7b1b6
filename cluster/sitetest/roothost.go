package sitetest

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"

	"airgap.dev/airgap/internal/host"
)

// RootHost is a host of which the files lie below a directory, and every command says
// the same.
type RootHost struct {
	Dir, Says string
}

// FS are the files below Dir.
func (h RootHost) FS() fs.FS { return os.DirFS(h.Dir) }

// Run returns Says. firewall-cmd is missing, nft fails, and so do commands of the survey whose
// output is returned.
func (h RootHost) Run(_ context.Context, cmd host.Cmd) ([]byte, error) {
	switch cmd.Name {
	case "rpm", "findmnt", "systemctl", "timedatectl", "chronyc", "getenforce", "modinfo", "modprobe", "sysctl", "lspci": // which the survey reads
		if cmd.Stdout == nil {
			return nil, &host.CommandError{Argv: []string{cmd.Name}, ExitCode: -1, Err: exec.ErrNotFound}
		}
	case "firewall-cmd":
		return nil, &host.CommandError{Argv: []string{cmd.Name}, ExitCode: -1, Err: exec.ErrNotFound}
	case "nft":
		return []byte(h.Says), &host.CommandError{Argv: []string{cmd.Name}, ExitCode: 1, Tail: "what went wrong: " + h.Says, Err: errors.New("exit status 1")}
	}
	if cmd.Stdout != nil {
		_, err := io.WriteString(cmd.Stdout, h.Says)
		return nil, err
	}
	return []byte(h.Says), nil
}
