package preflight

import "strings"

// scanners lists the systemd units of on-access virus scanners. They scan each file when a
// process opens it, and block that process meanwhile: ClamAV, Trend Micro, Kaspersky,
// Microsoft, Trellix (McAfee) and Sophos.
func scanners() []string {
	return []string{"clamav-clamonacc.service", "ds_agent.service", "kesl.service", "mdatp.service", "mfetpd.service", "sophos-spl.service"}
}

var antivirus = Check{
	ID: "antivirus", Title: "Virus scanner excludes container directories", Source: "Mirantis MKE 4k: antivirus guidelines; Docker: antivirus software",
	Breaks: "The scanner blocks files that the runtime, the kubelet and etcd use: pulls hang, volumes cannot be unmounted, etcd loses its leader.",
	Needs:  []string{"units"}, Run: judgeAntivirus,
}

// judgeAntivirus cannot read the existing exclusions: each product stores them in its own
// format, usually on a management server.
func judgeAntivirus(f *Facts, w *Want) Result {
	var running []string
	for _, name := range scanners() {
		if f.unit(name).Active() {
			running = append(running, name)
		}
	}
	if len(running) == 0 {
		return pass("no known scanner")
	}
	paths := []string{w.imagesPath(), kubeletPath}
	if w.HasRole(ControlPlane) {
		paths = append(paths, etcdPath, storePath)
	}
	return Result{Warn, strings.Join(running, ", ") + " is active", "no on-access scan of " + strings.Join(paths, ", "),
		"ask the scanner's administrators to exclude these directories; then run with --skip antivirus"}
}
