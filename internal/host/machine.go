package host

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
)

// Where airgap has its own files on a host, before Machine.Root.
const (
	BinDir   = "/opt/airgap/bin"
	StateDir = "/var/lib/airgap"
	UndoDir  = StateDir + "/undo" // records of the state before each change
	LogDir   = "/var/log/airgap"
)

const (
	// CNIDir has the configuration of the pod network. The runtime uses the first file of its
	// directory, so no other program may write here.
	CNIDir = "/etc/airgap/cni/net.d"
	// SharedCNIDir is the default directory of all runtimes. podman of EL 8 connects its containers
	// to the networks in it. airgap wrote the pod network there before it had CNIDir.
	SharedCNIDir = "/etc/cni/net.d"
)

// Machine is a host that steps change. Root comes before every path
// that is read or written; "" or "/" is the machine itself.
type Machine struct {
	Host Host
	Root string
}

// Path is where a file of the host lies for this process.
func (m Machine) Path(p string) string { return filepath.Join("/", m.Root, p) }

// Run runs a command and discards its output.
func (m Machine) Run(ctx context.Context, name string, args ...string) error {
	_, err := m.Host.Run(ctx, Cmd{Name: name, Args: args})
	return err
}

// UnitIs asks systemctl is-active or is-enabled. Any answer but yes is a no;
// only a systemctl that cannot be run is an error.
func (m Machine) UnitIs(ctx context.Context, question, unit string) (bool, error) {
	err := m.Run(ctx, "systemctl", question, "--quiet", unit)
	var failed *CommandError
	if errors.As(err, &failed) && failed.ExitCode > 0 {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("ask systemd about %s: %w", unit, err)
	}
	return true, nil
}

// UnitRuns reports whether unit is active now and after a reboot.
func (m Machine) UnitRuns(ctx context.Context, unit string) (bool, error) {
	enabled, err := m.UnitIs(ctx, "is-enabled", unit)
	if err != nil || !enabled {
		return false, err
	}
	return m.UnitIs(ctx, "is-active", unit)
}
