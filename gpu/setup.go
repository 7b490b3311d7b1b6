package gpu

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
)

// Setup has the inputs of all steps of this package on a host. For Undo, Host is sufficient.
type Setup struct {
	Host    host.Host
	Root    string // prefix of every path; "" or "/" is the machine itself
	Driver  Choice // the required driver; the zero Choice accepts the driver of the site
	Version string // its version, "580.82.07"; "" is any version of the branch
	Fabric  bool   // NVSwitches connect the GPUs, so the fabric manager must run
	Hidden  bool   // the NVSwitches are reached through InfiniBand (ib_umad)
	Next    string // release of the kernel that the host boots next, as in uname -r; "": unknown
	// Progress receives warnings; nil discards them.
	Progress ui.Progress
}

func (s Setup) warn(format string, args ...any) {
	if s.Progress != nil {
		s.Progress.Say("warning: "+format, args...)
	}
}

const (
	undoDir = "/var/lib/airgap/undo"
	logDir  = "/var/log/airgap"
	// ours is the first line of every file that this package writes.
	ours = "# Written by airgap: change airgap.yaml (section gpu) instead.\n"
)

func (s Setup) path(p string) string { return filepath.Join("/", s.Root, p) }

// run runs a command and discards its output.
func (s Setup) run(ctx context.Context, name string, args ...string) error {
	_, err := s.Host.Run(ctx, host.Cmd{Name: name, Args: args})
	return err
}

// unitIs runs systemctl is-active or is-enabled. A nonzero exit code is false; only a failure to run
// systemctl is an error.
func (s Setup) unitIs(ctx context.Context, question, unit string) (bool, error) {
	err := s.run(ctx, "systemctl", question, "--quiet", unit)
	if failed, is := errors.AsType[*host.CommandError](err); is && failed.ExitCode > 0 {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("query systemd for %s: %w", unit, err)
	}
	return true, nil
}

// FreeGPUs returns the GPUs on the PCI bus that containers can use.
func (s Setup) FreeGPUs() ([]Device, error) {
	found, err := host.PCIDevices(s.Host.FS(), Vendor)
	if err != nil {
		return nil, err
	}
	var cards []Device
	for _, d := range Detect(found) {
		if d.Kind == GPU && d.Reserved() == "" {
			cards = append(cards, d)
		}
	}
	return cards, nil
}
