package sitetest

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"testing/fstest"

	"airgap.dev/airgap/gpu/nvml"
	"airgap.dev/airgap/internal/host"
)

// CardHost is a fake host with files and a fixed output of airgap-nvml.
type CardHost struct {
	fstest.MapFS
	Says string // output of nvml.Helper; "": it fails
	Log  string // of the kernel, or Unreadable
}

// Unreadable is the Log of a host with an unreadable journal.
const Unreadable = "unreadable"

// FS returns the files of the host.
func (h CardHost) FS() fs.FS { return h.MapFS }

// Run answers for journalctl and nvml.Helper. Other commands fail.
func (h CardHost) Run(_ context.Context, cmd host.Cmd) ([]byte, error) {
	if cmd.Name == "journalctl" && h.Log == Unreadable {
		return nil, errors.New("no journal")
	}
	if cmd.Name == "journalctl" {
		return []byte(h.Log), nil
	}
	if h.Says == "" || cmd.Name != nvml.Helper {
		return nil, &host.CommandError{Argv: []string{cmd.Name}, ExitCode: 1, Tail: "airgap-nvml: error: " + nvml.ErrMismatch.Error(), Err: errors.New("exit status 1")}
	}
	return []byte(h.Says), nil
}

// CardFiles returns the files of a host with kernel 5.14, and all files of parts.
func CardFiles(parts ...fstest.MapFS) fstest.MapFS {
	all := fstest.MapFS{"proc/sys/kernel/osrelease": {Data: []byte("5.14\n")}}
	for _, p := range parts {
		maps.Copy(all, p)
	}
	return all
}

// H100 returns the files of an H100 at this address of the PCI bus.
func H100(address string) fstest.MapFS {
	dir := "sys/bus/pci/devices/" + address + "/"
	return fstest.MapFS{dir + "vendor": {Data: []byte("0x10de\n")}, dir + "device": {Data: []byte("0x2330\n")}, dir + "class": {Data: []byte("0x030200\n")}}
}
