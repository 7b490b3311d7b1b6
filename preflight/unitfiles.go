package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// UnitFile is a file outside of the packages' own that changes how the kubelet or the runtime starts.
type UnitFile struct {
	Path string `yaml:"path" json:"path"`
	Unit string `yaml:"unit" json:"unit"` // "kubelet", or "service" for all services
	Kind string `yaml:"kind" json:"kind"` // "unit", "drop-in" or "environment"
	// Settings are in the order of the file, without values that can be secrets.
	Settings []UnitSetting `yaml:"settings,omitempty" json:"settings,omitempty"`
	// LeftOut is the number of settings above the limit.
	LeftOut int `yaml:"leftOut,omitempty" json:"leftOut,omitempty"`
}

// UnitSetting is a setting in a file, with its line.
type UnitSetting struct {
	Line int    `yaml:"line" json:"line"`
	Text string `yaml:"text" json:"text"` // "Environment=HTTPS_PROXY=http://p:3128"
}

// Kinds of UnitFile.
const (
	wholeUnit       = "unit"
	dropInFile      = "drop-in"
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
			f.UnitFiles = append(f.UnitFiles, UnitFile{Path: "/" + path, Unit: "kubelet", Kind: wholeUnit})
		}
	}
	for _, unit := range append([]string{"service"}, maskedUnits()...) {
		if err := f.addDropIns(r, unit); err != nil {
			return err
		}
	}
	for _, path := range kubeletEnvironments() {
		text, err := r.raw(path)
		if err != nil {
			return err
		}
		f.addUnitFile(UnitFile{Path: "/" + path, Unit: "kubelet", Kind: environmentFile}, environmentSettings(text))
	}
	return nil
}

// addDropIns adds the drop-ins of a unit in the order in which systemd applies them. A file hides
// the one with the same name in a directory of lower priority.
func (f *Facts) addDropIns(r reader, unit string) error {
	of := unit
	if unit != "service" {
		of += ".service"
	}
	files, err := r.dropIns(dropInDirs(of))
	if err != nil {
		return err
	}
	for _, path := range files {
		if path == packagedDropIn {
			continue
		}
		text, err := r.raw(path) // systemd also ignores a dangling link
		if err != nil {
			return err
		}
		f.addUnitFile(UnitFile{Path: "/" + path, Unit: unit, Kind: dropInFile}, unitSettings(text))
	}
	return nil
}

// maxUnitSettings is far more than a person writes into one file.
const maxUnitSettings = 100

func (f *Facts) addUnitFile(file UnitFile, settings []UnitSetting) {
	if len(settings) == 0 || strings.HasPrefix(settings[0].Text, airgapMark) {
		return
	}
	if n := len(settings) - maxUnitSettings; n > 0 {
		settings, file.LeftOut = settings[:maxUnitSettings], n
	}
	file.Settings = settings
	f.UnitFiles = append(f.UnitFiles, file)
}

// at is the place of a setting: "/etc/…/10-a.conf line 3".
func (u UnitFile) at(s UnitSetting) string { return fmt.Sprintf("%s line %d", u.Path, s.Line) }

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

// replacing are settings that replace the program, its arguments, its user or its variables.
func replacing(key string) bool {
	return strings.HasPrefix(key, "Exec") || slices.Contains([]string{"EnvironmentFile", "User", "Group", "RootDirectory", "RootImage", "Type", "DynamicUser"}, key)
}

// judgeUnitFiles refuses files instead of replacing them, because airgap cannot know whether the
// site still needs them. proxyEnv judges proxies.
func judgeUnitFiles(f *Facts, w *Want) Result {
	var bad, odd, files []string
	note := func(list *[]string, file UnitFile, text string) {
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
			switch u.weight(s) {
			case Fail:
				note(&bad, u, u.at(s)+": "+s.Text)
			case Warn:
				note(&odd, u, u.at(s)+": "+s.Text)
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

// weight is the status of a setting.
func (u UnitFile) weight(s UnitSetting) Status {
	key, value, _ := strings.Cut(s.Text, "=")
	switch {
	case u.Kind == environmentFile && strings.HasPrefix(key, "KUBELET_"):
		if strings.Trim(value, ` "'`) != "" {
			return Fail
		}
		return Pass
	case u.Kind == environmentFile:
		return Pass // only proxies, which proxyEnv judges
	case key == "Environment":
		return variablesWeight(value)
	case replacing(key):
		return Fail
	case harmless(key):
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
