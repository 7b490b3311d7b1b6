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

// RootHost is a fake host with its files in Dir. Every command has the output Says.
type RootHost struct {
	Dir, Says string
}

// FS returns the files below Dir.
func (h RootHost) FS() fs.FS { return os.DirFS(h.Dir) }

// Run returns Says. firewall-cmd is missing, and nft fails. Commands of the survey without cmd.Stdout are missing
// too.
func (h RootHost) Run(_ context.Context, cmd host.Cmd) ([]byte, error) {
	switch cmd.Name {
	case "rpm", "findmnt", "systemctl", "timedatectl", "chronyc", "getenforce", "modinfo", "modprobe", "sysctl", "lspci": // used by the survey
		if cmd.Stdout == nil {
			return nil, &host.CommandError{Argv: []string{cmd.Name}, ExitCode: -1, Err: exec.ErrNotFound}
		}
	case "firewall-cmd":
		return nil, &host.CommandError{Argv: []string{cmd.Name}, ExitCode: -1, Err: exec.ErrNotFound}
	case "nft":
		return []byte(h.Says), &host.CommandError{Argv: []string{cmd.Name}, ExitCode: 1, Tail: "nft failed: " + h.Says, Err: errors.New("exit status 1")}
	}
	if cmd.Stdout != nil {
		_, err := io.WriteString(cmd.Stdout, h.Says)
		return nil, err
	}
	return []byte(h.Says), nil
}
