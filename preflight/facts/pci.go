package facts

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"airgap.dev/airgap/internal/host"
)

// nvidia is the PCI vendor ID of the surveyed devices. The survey has all of them: package gpu of
// a later release may identify more.
const nvidia = "10de"

func readPCI(_ context.Context, r reader, f *Facts) error {
	var err error
	if f.PCI, err = host.PCIDevices(r.fs, nvidia); err != nil {
		return err
	}
	text, err := fs.ReadFile(r.fs, "proc/driver/nvidia/version")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	f.Driver, _, _ = strings.Cut(string(text), "\n")
	return err
}

// nvidiaUninstall is a program of NVIDIA's installer, the .run file.
const nvidiaUninstall = "usr/bin/nvidia-uninstall"

// readRunfile looks for a program that only NVIDIA's installer installs.
func readRunfile(_ context.Context, r reader, f *Facts) error {
	var err error
	f.Runfile, err = r.present(nvidiaUninstall)
	return err
}
