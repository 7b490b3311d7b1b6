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
	// PersistenceUnit keeps the driver initialized while no process uses a GPU.
	PersistenceUnit = "nvidia-persistenced.service"
	// OwnPersistenceUnit starts the daemon if it has no unit: NVIDIA's installer has one only as a
	// sample.
	OwnPersistenceUnit = "airgap-persistenced.service"
	persistenceDaemon  = "usr/bin/nvidia-persistenced"
	// FabricUnit is the fabric manager. GPUs with NVSwitches cannot compute without it.
	FabricUnit = "nvidia-fabricmanager.service"
)

// DriverStep loads the driver, now and at every boot, and checks that it is the required one: kernel
// module and library have the same version and the required flavour. Then it starts the persistence
// daemon, if it is installed, and the fabric manager.
//
// It returns a *Failure with the cause, or a *RebootError if an older module is in use. Undo stops the
// units that this step has started. It leaves the module loaded until the next boot.
func DriverStep(s Setup) step.Step {
	l := loading{s, dkms{s}}
	return step.Step{
		Name: "gpu-driver", Title: "Load NVIDIA's driver",
		Done: l.done, Plan: l.plan, Run: l.load, Undo: l.unload,
	}
}

// loading is DriverStep on a host.
type loading struct {
	Setup
	dkms dkms
}

func (l loading) done(ctx context.Context) (bool, error) {
	if l.has(strings.TrimPrefix(exchangeFile, "/")) {
		return false, nil // left by an abandoned replacement: the driver would not load at the next boot
	}
	if holds, err := host.FileMatches(l.path(modulesFile), l.modulesText(), 0o644); err != nil || !holds {
		return false, err
	}
	d, err := l.Loaded()
	if err != nil || d == (Driver{}) || !l.loaded("nvidia_uvm") {
		return false, err
	}
	if agrees := l.agree(d) == nil; !agrees {
		return false, nil // Run reports the difference
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

// modules returns the modules of the driver and of its daemons.
func (l loading) modules() []string {
	if l.Hidden {
		return []string{"nvidia", "nvidia_uvm", "ib_umad"}
	}
	return []string{"nvidia", "nvidia_uvm"}
}

func (l loading) modulesText() []byte { return []byte(ours + strings.Join(l.modules(), "\n") + "\n") }

// Loaded returns the loaded driver; the zero Driver for none.
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

// units returns the units of this host's driver. OwnPersistenceUnit starts a daemon without a unit,
// unless the site installs the driver: the site may start the daemon in another way.
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
