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
	l := loading{s, dkms{s}}
	return step.Step{
		Name: "gpu-driver", Title: "Load NVIDIA's driver",
		Done: l.done, Plan: l.plan, Run: l.load, Undo: l.unload,
	}
}

// loading is a host on which the driver is to run.
type loading struct {
	Setup
	dkms dkms
}

func (l loading) done(ctx context.Context) (bool, error) {
	if l.has(strings.TrimPrefix(exchangeFile, "/")) {
		return false, nil // of an exchange that was given up: the next boot would come without a driver
	}
	if holds, err := host.Holds(l.path(modulesFile), l.modulesText(), 0o644); err != nil || !holds {
		return false, err
	}
	d, err := l.Loaded()
	if err != nil || d == (Driver{}) || !l.loaded("nvidia_uvm") {
		return false, err
	}
	if agrees := l.agree(d) == nil; !agrees {
		return false, nil // Run says what does not
	}
	if holds, err := l.dkms.dropInHolds(); err != nil || !holds {
		return false, err
	}
	for _, unit := range l.units() {
		enabled, err := l.unitIs(ctx, "is-enabled", unit)
		if err != nil || !enabled {
			return false, err
		}
		if active, err := l.unitIs(ctx, "is-active", unit); err != nil || !active {
			return false, err
		}
	}
	return true, nil
}

// modules are those of the driver, and what its daemons need.
func (l loading) modules() []string {
	if l.Hidden {
		return []string{"nvidia", "nvidia_uvm", "ib_umad"}
	}
	return []string{"nvidia", "nvidia_uvm"}
}

func (l loading) modulesText() []byte { return []byte(ours + strings.Join(l.modules(), "\n") + "\n") }

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
func (l loading) units() []string {
	var units []string
	switch {
	case l.hasUnit(PersistenceUnit):
		units = append(units, PersistenceUnit)
	case l.Driver != (Choice{}) && l.has(persistenceDaemon):
		units = append(units, OwnPersistenceUnit)
	}
	if l.Fabric {
		units = append(units, FabricUnit)
	}
	return units
}

func (l loading) plan(context.Context) ([]string, error) {
	change, err := host.PlanFile(l.path(modulesFile), l.modulesText(), 0o644)
	var changes []string
	if change != "" {
		changes = append(changes, change)
	}
	if modules := l.modules(); slices.ContainsFunc(modules, func(m string) bool { return !l.loaded(m) }) {
		changes = append(changes, "load kernel modules "+strings.Join(modules, ", "))
	}
	for _, unit := range l.units() {
		changes = append(changes, "enable and start "+unit)
	}
	if holds, dropIn := l.dkms.dropInHolds(); dropIn != nil || !holds {
		return append(changes, "write "+l.path(dkmsDropIn)), errors.Join(err, dropIn)
	}
	return changes, err
}

func (l loading) load(ctx context.Context) error {
	if err := host.Remove(l.path(exchangeFile)); err != nil {
		return err
	}
	if err := l.dkms.build(ctx); err != nil {
		return err
	}
	for _, module := range l.modules() {
		if l.loaded(module) {
			continue
		}
		if err := l.run(ctx, "modprobe", module); err != nil {
			return l.explainModule(ctx, module, err)
		}
	}
	d, err := l.Loaded()
	if err != nil {
		return err
	}
	if err := l.agree(d); err != nil {
		return err
	}
	if err := host.WriteFile(l.path(modulesFile), l.modulesText(), 0o644); err != nil {
		return err
	}
	if err := l.dkms.writeDropIn(ctx); err != nil {
		return err
	}
	return l.enable(ctx, l.units())
}

func (l loading) unload(ctx context.Context) error {
	if err := errors.Join(l.disable(ctx), l.dkms.removeDropIn(ctx)); err != nil {
		return err
	}
	return host.Remove(l.path(modulesFile))
}
