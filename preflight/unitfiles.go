package preflight

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/preflight/unitfile"
)

// Kinds of unitfile.File, besides those of the package.
const (
	wholeUnit       = "unit"
	environmentFile = "environment"
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
			f.UnitFiles = append(f.UnitFiles, unitfile.File{Path: "/" + path, Unit: "kubelet", Kind: wholeUnit})
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
	for _, path := range kubeletEnvironments() {
		text, err := r.raw(path)
		if err != nil {
			return err
		}
		if file := readEnvironment(unitfile.File{Path: "/" + path, Unit: "kubelet", Kind: environmentFile}, text); len(file.Settings) > 0 {
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

// settingsOf returns the settings of services' drop-ins for a unit: "kubelet". Older versions of
// systemd do not read the drop-ins for all services.
func (f *Facts) settingsOf(unit string) []unitfile.Placed {
	if f.Systemd != 0 && f.Systemd < serviceDropInsFrom {
		return unitfile.Order(f.UnitFiles, "Service", unit)
	}
	return unitfile.Order(f.UnitFiles, "Service", "service", unit)
}

var foreignUnits = Check{
	ID: "unit-files", Title: "Only airgap decides how the kubelet and the runtime start", Source: "systemd.unit(5); kubeadm: the kubelet drop-in file for systemd",
	Breaks: "The kubelet or the runtime starts with the arguments of an earlier cluster: it does not join, or joins with other settings than airgap.yaml has.",
	Needs:  []string{"unitFiles"}, Run: judgeUnitFiles,
}

// harmless are settings in drop-ins of a site that change neither the program nor its arguments.
// Other checks judge some of them.
func harmless(key string) bool {
	for _, prefix := range []string{"Limit", "Memory", "CPU", "IO", "Tasks", "StartLimit", "Timeout", "OOM", "Log", "Standard", "Syslog", "Restart", "Condition", "Assert", "OnFailure", "Requires", "Wants", "Wanted", "Required"} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return slices.Contains([]string{"UMask", "After", "Before", "BindsTo", "PartOf", "Description", "Documentation", "Nice", "Delegate", "UnsetEnvironment", "WatchdogSec", "Alias"}, key)
}

// replacing are settings that replace the program, its arguments, its group or its variables.
func replacing(key string) bool {
	return strings.HasPrefix(key, "Exec") || slices.Contains([]string{"EnvironmentFile", "Group", "Type"}, key)
}

// judgeUnitFiles refuses files instead of replacing them, because airgap cannot know whether the
// site still needs them. proxyEnv judges proxies.
func judgeUnitFiles(f *Facts, w *Want) Result {
	var bad, odd, files []string
	note := func(list *[]string, file unitfile.File, text string) {
		*list = append(*list, text)
		if !slices.Contains(files, file.Path) {
			files = append(files, file.Path)
		}
	}
	for _, u := range f.UnitFiles {
		if u.Unit != "kubelet" && u.Unit != w.runtimeUnit() {
			continue // UMask and proxies for all services have their own checks
		}
		if u.Kind == wholeUnit {
			note(&bad, u, u.Path+" hides the unit of package kubelet")
		}
		for _, s := range u.Settings {
			text := unitfile.Placed{Setting: s, File: u}.At() + ": " + s.String()
			switch weight(u.Kind, s) {
			case Fail:
				note(&bad, u, text)
			case Warn:
				note(&odd, u, text)
			}
		}
		if u.LeftOut > 0 {
			note(&odd, u, fmt.Sprintf("%s: %d more settings", u.Path, u.LeftOut))
		}
	}
	want := "no file that changes how the kubelet and the runtime start"
	fix := "move what the site still needs to kubernetes.overrides.kubelet or runtime.overrides in airgap.yaml, remove the lines or the files (" +
		strings.Join(files, ", ") + "), then run systemctl daemon-reload"
	status := Fail
	if w.Managed || len(bad) == 0 {
		status = Warn // a running cluster works with them; an upgrade must not stop
	}
	if found := append(bad, odd...); len(found) > 0 {
		return Result{status, strings.Join(few(found), "; "), want, fix}
	}
	return pass("none")
}

// few shortens a list for a report.
func few(list []string) []string {
	const most = 5
	if len(list) <= most {
		return list
	}
	return append(slices.Clone(list[:most]), fmt.Sprintf("%d more", len(list)-most))
}

func (w *Want) runtimeUnit() string {
	if w.CRIO {
		return "crio"
	}
	return "containerd"
}

// weight is the status of a setting in a file of this kind.
func weight(kind string, s unitfile.Setting) Status {
	switch {
	case kind == environmentFile && strings.HasPrefix(s.Key, "KUBELET_"):
		if strings.Trim(s.Value, ` "'`) != "" {
			return Fail
		}
		return Pass
	case kind == environmentFile:
		return Pass // only proxies, which proxyEnv judges
	case s.Key == "Environment":
		return variablesWeight(s.Value)
	case replacing(s.Key):
		return Fail
	case harmless(s.Key), slices.Contains(unitfile.RestrictionKeys(), s.Key): // serviceRules judges those
		return Pass
	default:
		return Warn
	}
}

// variablesWeight is the status of variables in a drop-in. A variable with another name can change
// a Go program, as GODEBUG does.
func variablesWeight(value string) Status {
	status := Pass
	for word := range strings.FieldsSeq(value) {
		name, _, _ := strings.Cut(word, "=")
		switch {
		case isProxy(name):
		case strings.HasPrefix(name, "KUBELET_") || name == "PATH" || strings.HasPrefix(name, "LD_"):
			return Fail
		default:
			status = Warn
		}
	}
	return status
}
