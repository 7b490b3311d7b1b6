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

// CardHost is a host of files, and of what NVIDIA's library says there.
type CardHost struct {
	fstest.MapFS
	Says string
	Log  string // the kernel's
}

// Unreadable is the Log of a host whose journal cannot be read.
const Unreadable = "unreadable"

// FS are the files of the host.
func (h CardHost) FS() fs.FS { return h.MapFS }

// Run knows journalctl and the helper that asks NVIDIA's library.
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

// CardFiles returns the files of a host with kernel 5.14 and the given parts.
func CardFiles(parts ...fstest.MapFS) fstest.MapFS {
	all := fstest.MapFS{"proc/sys/kernel/osrelease": {Data: []byte("5.14\n")}}
	for _, p := range parts {
		maps.Copy(all, p)
	}
	return all
}

// H100 is a GPU on the PCI bus.
func H100(address string) fstest.MapFS {
	dir := "sys/bus/pci/devices/" + address + "/"
	return fstest.MapFS{dir + "vendor": {Data: []byte("0x10de\n")}, dir + "device": {Data: []byte("0x2330\n")}, dir + "class": {Data: []byte("0x030200\n")}}
}
