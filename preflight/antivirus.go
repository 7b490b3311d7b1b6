package preflight

import (
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

var antivirus = Check{
	ID: "antivirus", Title: "Virus scanner excludes container directories", Source: "Mirantis MKE 4k: antivirus guidelines; Docker: antivirus software; fanotify(7)",
	Breaks: "The scanner blocks files that the runtime, the kubelet and etcd use: pulls hang, volumes cannot be unmounted, etcd loses its leader.",
	Needs:  []string{"units", "agents"}, Run: judgeAntivirus,
}

// judgeAntivirus cannot read the existing exclusions: each product stores them in its own
// format, usually on a management server. fapolicyd has its own check.
func judgeAntivirus(f *facts.Facts, w *Want) Result {
	var running []string
	for _, name := range facts.Scanners() {
		switch unit := f.Unit(name); {
		case unit.Active():
			running = append(running, name+" is active")
		case unit.Later():
			running = append(running, "the next boot starts "+name)
		}
	}
	for _, a := range f.Agents.Known {
		if !a.Filters && !strings.Contains(strings.Join(running, " "), strings.TrimPrefix(a.Seen, "unit ")) {
			running = append(running, a.String())
		}
	}
	for _, watcher := range f.Agents.Watchers {
		switch {
		case watcher.Program == "fapolicyd":
		case watcher.Blocks:
			running = append(running, watcher.Program+" decides about each opened file (fanotify)")
		default:
			running = append(running, watcher.Program+" watches opened files (fanotify)")
		}
	}
	if len(f.Agents.Modules) > 0 {
		running = append(running, "the kernel has modules of an unknown vendor: "+strings.Join(f.Agents.Modules, ", "))
	}
	if len(running) == 0 {
		return pass("no scanner found; programs that use eBPF are not seen")
	}
	paths := []string{w.imagesPath(), facts.KubeletPath}
	if w.HasRole(ControlPlane) {
		paths = append(paths, facts.EtcdPath, facts.StorePath)
	}
	return Result{Warn, strings.Join(running, "; "), "no on-access scan of " + strings.Join(paths, ", "),
		"ask the scanner's administrators to exclude these directories; then run with --skip antivirus"}
}
