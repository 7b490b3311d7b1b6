package gpu

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
)

const (
	driverFile  = "proc/driver/nvidia/version"
	modulesFile = "/etc/modules-load.d/airgap-nvidia.conf"
	unitsUndo   = undoDir + "/gpu-units.json"
	// PersistenceUnit keeps the driver's state while nobody uses a card.
	PersistenceUnit = "nvidia-persistenced.service"
	// OwnPersistenceUnit does so where the daemon came without one: NVIDIA's installer
	// has it among its samples alone.
	OwnPersistenceUnit = "airgap-persistenced.service"
	persistenceDaemon  = "usr/bin/nvidia-persistenced"
	// FabricUnit is the fabric manager, without which no card behind an NVSwitch
	// computes anything.
	FabricUnit = "nvidia-fabricmanager.service"
)

// DriverStep loads the driver, now and at every boot, and proves that it is the
// wanted one: kernel module and library of one version, of the wanted flavour. Then
// it starts the persistence daemon, where there is one, and the fabric manager.
//
// A *Failure names what is the matter, a *RebootError an older module that is in
// use. Undo leaves the module loaded, since the next boot comes without it, and
// stops what this step has started.
func DriverStep(s Setup) step.Step {
	return step.Step{
		Name: "gpu-driver", Title: "Load NVIDIA's driver",
		Done: s.driverRuns, Plan: s.planDriver, Run: s.loadDriver, Undo: s.unloadDriver,
	}
}

func (s Setup) driverRuns(ctx context.Context) (bool, error) {
	if s.has(strings.TrimPrefix(exchangeFile, "/")) {
		return false, nil // of an exchange that was given up: the next boot would come without a driver
	}
	if holds, err := host.Holds(s.path(modulesFile), s.modulesText(), 0o644); err != nil || !holds {
		return false, err
	}
	d, err := s.Loaded()
	if err != nil || d == (Driver{}) || !s.loaded("nvidia_uvm") {
		return false, err
	}
	if agrees := s.agree(d) == nil; !agrees {
		return false, nil // Run says what does not
	}
	if holds, err := s.dropInHolds(); err != nil || !holds {
		return false, err
	}
	for _, unit := range s.units() {
		enabled, err := s.unitIs(ctx, "is-enabled", unit)
		if err != nil || !enabled {
			return false, err
		}
		if active, err := s.unitIs(ctx, "is-active", unit); err != nil || !active {
			return false, err
		}
	}
	return true, nil
}

// modules are those of the driver, and what its daemons need.
func (s Setup) modules() []string {
	if s.Hidden {
		return []string{"nvidia", "nvidia_uvm", "ib_umad"}
	}
	return []string{"nvidia", "nvidia_uvm"}
}

func (s Setup) modulesText() []byte { return []byte(ours + strings.Join(s.modules(), "\n") + "\n") }

// Loaded is the driver that is loaded; the zero Driver where none is.
func (s Setup) Loaded() (Driver, error) {
	text, err := fs.ReadFile(s.Host.FS(), driverFile)
	if errors.Is(err, fs.ErrNotExist) {
		return Driver{}, nil
	}
	if err != nil {
		return Driver{}, err
	}
	return ParseDriver(string(text))
}

// units are those that belong to the driver of this host. A daemon without one is
// started by ours, unless the site sees to the driver: it may start it in its own way.
func (s Setup) units() []string {
	var units []string
	switch {
	case s.hasUnit(PersistenceUnit):
		units = append(units, PersistenceUnit)
	case s.Driver != (Choice{}) && s.has(persistenceDaemon):
		units = append(units, OwnPersistenceUnit)
	}
	if s.Fabric {
		units = append(units, FabricUnit)
	}
	return units
}

func (s Setup) planDriver(context.Context) ([]string, error) {
	change, err := host.PlanFile(s.path(modulesFile), s.modulesText(), 0o644)
	var changes []string
	if change != "" {
		changes = append(changes, change)
	}
	if modules := s.modules(); slices.ContainsFunc(modules, func(m string) bool { return !s.loaded(m) }) {
		changes = append(changes, "load kernel modules "+strings.Join(modules, ", "))
	}
	for _, unit := range s.units() {
		changes = append(changes, "enable and start "+unit)
	}
	if holds, dropIn := s.dropInHolds(); dropIn != nil || !holds {
		return append(changes, "write "+s.path(dkmsDropIn)), errors.Join(err, dropIn)
	}
	return changes, err
}

func (s Setup) loadDriver(ctx context.Context) error {
	if err := host.Remove(s.path(exchangeFile)); err != nil {
		return err
	}
	if err := s.build(ctx); err != nil {
		return err
	}
	for _, module := range s.modules() {
		if s.loaded(module) {
			continue
		}
		if err := s.run(ctx, "modprobe", module); err != nil {
			return s.explainModule(ctx, module, err)
		}
	}
	d, err := s.Loaded()
	if err != nil {
		return err
	}
	if err := s.agree(d); err != nil {
		return err
	}
	if err := host.WriteFile(s.path(modulesFile), s.modulesText(), 0o644); err != nil {
		return err
	}
	if err := s.writeDropIn(ctx); err != nil {
		return err
	}
	return s.enable(ctx, s.units())
}

func (s Setup) unloadDriver(ctx context.Context) error {
	if err := errors.Join(s.disable(ctx), s.removeDropIn(ctx)); err != nil {
		return err
	}
	return host.Remove(s.path(modulesFile))
}
