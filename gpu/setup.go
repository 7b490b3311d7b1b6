package gpu

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
)

// Setup is a host that gets its driver: what the steps of this package have in
// common. To go back, Host is enough.
type Setup struct {
	Host    host.Host
	Root    string // before every path; "" or "/" is the machine itself
	Driver  Choice // the wanted one; the zero Choice takes what the site has installed
	Version string // of it, "580.82.07"; "" is any of the branch
	Fabric  bool   // NVSwitches join the cards, so their fabric manager has to run
	Hidden  bool   // and these are reached as InfiniBand's switches are
	Next    string // the kernel that the host boots next, as uname -r has it; "": nobody knows
	// Progress is told what went wrong and stops nothing; nil where nobody listens.
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
	// ours begins every file of a setup.
	ours = "# Written by airgap: change airgap.yaml (section gpu) instead.\n"
)

func (s Setup) path(p string) string { return filepath.Join("/", s.Root, p) }

// run runs a command whose output nobody reads.
func (s Setup) run(ctx context.Context, name string, args ...string) error {
	_, err := s.Host.Run(ctx, host.Cmd{Name: name, Args: args})
	return err
}

// unitIs asks systemctl is-active or is-enabled. Any answer but yes is a no;
// only a systemctl that cannot be run is an error.
func (s Setup) unitIs(ctx context.Context, question, unit string) (bool, error) {
	err := s.run(ctx, "systemctl", question, "--quiet", unit)
	if failed, is := errors.AsType[*host.CommandError](err); is && failed.ExitCode > 0 {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("ask systemd about %s: %w", unit, err)
	}
	return true, nil
}

// FreeCards are the GPUs on the bus that containers can have.
func (s Setup) FreeCards() ([]Device, error) {
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
