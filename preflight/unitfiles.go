package preflight

import (
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/preflight/facts"
	"airgap.dev/airgap/preflight/unitfile"
)

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
func judgeUnitFiles(f *facts.Facts, w *Want) Result {
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
		if u.Kind == facts.WholeUnit {
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
	case kind == facts.EnvironmentFile && strings.HasPrefix(s.Key, "KUBELET_"):
		if strings.Trim(s.Value, ` "'`) != "" {
			return Fail
		}
		return Pass
	case kind == facts.EnvironmentFile:
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
		case facts.IsProxy(name):
		case strings.HasPrefix(name, "KUBELET_") || name == "PATH" || strings.HasPrefix(name, "LD_"):
			return Fail
		default:
			status = Warn
		}
	}
	return status
}
