package facts

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"airgap.dev/airgap/preflight/unitfile"
)

// Kinds of unitfile.File, besides those of the package.
const (
	WholeUnit       = "unit"
	EnvironmentFile = "environment"
)

// overridingUnitDirs are the directories in which a unit file hides the unit of a package in
// /usr/lib/systemd/system (systemd.unit(5)), the one with the highest priority first.
func overridingUnitDirs() []string {
	return []string{"etc/systemd/system.control", "run/systemd/system.control", "run/systemd/transient", "etc/systemd/system", "run/systemd/system", "usr/local/lib/systemd/system"}
}

// kubeletEnvironments are the files from which the kubelet's units of the RPM and of the Debian
// package read variables. The unit of an earlier installation may read either of them.
func kubeletEnvironments() []string { return []string{"etc/sysconfig/kubelet", "etc/default/kubelet"} }

// packagedDropIn is the drop-in of package kubeadm.
const packagedDropIn = "usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf"

// kubeletUnits are the unit files that hide the one of the package.
func kubeletUnits() []string {
	var paths []string
	for _, dir := range overridingUnitDirs() {
		paths = append(paths, dir+"/kubelet.service")
	}
	return paths
}

func readUnitFiles(_ context.Context, r reader, f *Facts) error {
	for _, path := range kubeletUnits() {
		is, err := r.present(path)
		if err != nil {
			return err
		}
		if is {
			f.UnitFiles = append(f.UnitFiles, unitfile.File{Path: "/" + path, Unit: "kubelet", Kind: WholeUnit})
		}
	}
	for _, unit := range append([]string{"service"}, maskedUnits()...) {
		of := unit
		if unit != "service" {
			of += ".service"
		}
		if err := f.addDropIns(r, unit, dropInDirs(of)); err != nil {
			return err
		}
	}
	for _, group := range groups() {
		if err := f.addDropIns(r, group, dropInDirs(group)); err != nil {
			return err
		}
	}
	for _, path := range kubeletEnvironments() {
		text, err := r.raw(path)
		if err != nil {
			return err
		}
		if file := readEnvironment(unitfile.File{Path: "/" + path, Unit: "kubelet", Kind: EnvironmentFile}, text); len(file.Settings) > 0 {
			f.UnitFiles = append(f.UnitFiles, file)
		}
	}
	return f.addPrograms(r)
}

// addPrograms adds the files of systemd itself and of logind. Each reads the last one of its main
// files that exists.
func (f *Facts) addPrograms(r reader) error {
	for program, conf := range map[string]string{"systemd": "system.conf", "logind": "logind.conf"} {
		exist, err := r.among(mainConfs(conf))
		if err != nil {
			return err
		}
		if len(exist) > 0 {
			if err := f.addUnitFile(r, exist[len(exist)-1], program, unitfile.Main); err != nil {
				return err
			}
		}
		if err := f.addDropIns(r, program, confDirs(conf)); err != nil {
			return err
		}
	}
	slices.SortStableFunc(f.UnitFiles, func(a, b unitfile.File) int { return cmp.Compare(a.Unit, b.Unit) })
	return nil
}

// addDropIns adds the drop-ins in the order in which systemd applies them. A file hides the one
// with the same name in a directory of lower priority.
func (f *Facts) addDropIns(r reader, unit string, dirs []string) error {
	files, err := r.dropIns(dirs)
	if err != nil {
		return err
	}
	for _, path := range files {
		if path == packagedDropIn {
			continue
		}
		if err := f.addUnitFile(r, path, unit, unitfile.DropIn); err != nil {
			return err
		}
	}
	return nil
}

// addUnitFile adds a file that airgap has not written.
func (f *Facts) addUnitFile(r reader, path, unit, kind string) error {
	text, err := r.raw(path) // systemd also ignores a dangling link
	if err != nil || strings.HasPrefix(text, airgapMark) {
		return err
	}
	if file := (unitfile.File{Path: "/" + path, Unit: unit, Kind: kind}).Read(text, unitValue); len(file.Settings) > 0 {
		f.UnitFiles = append(f.UnitFiles, file)
	}
	return nil
}

// SettingsOf returns the settings of services' drop-ins for a unit: "kubelet". Older versions of
// systemd do not read the drop-ins for all services.
func (f *Facts) SettingsOf(unit string) []unitfile.Placed {
	if f.Systemd != 0 && f.Systemd < serviceDropInsFrom {
		return unitfile.Order(f.UnitFiles, "Service", unit)
	}
	return unitfile.Order(f.UnitFiles, "Service", "service", unit)
}

// SettingsOfGroup returns the settings of drop-ins for a unit type ("slice", "scope") and for a unit of
// it, which may be "". Older versions of systemd do not read the drop-ins for a type.
func SettingsOfGroup(f *Facts, section, kind, unit string) []unitfile.Placed {
	if f.Systemd != 0 && f.Systemd < serviceDropInsFrom {
		return unitfile.Order(f.UnitFiles, section, unit)
	}
	return unitfile.Order(f.UnitFiles, section, kind, unit)
}

// confDirs are the directories of drop-ins for a file in /etc/systemd: "system.conf".
func confDirs(name string) []string {
	return []string{"usr/lib/systemd/" + name + ".d", "usr/local/lib/systemd/" + name + ".d", "run/systemd/" + name + ".d", "etc/systemd/" + name + ".d"}
}

// mainConfs are the possible main files; systemd reads the last one that exists.
func mainConfs(name string) []string {
	return []string{"usr/lib/systemd/" + name, "run/systemd/" + name, "etc/systemd/" + name}
}
