package preflight

import "strings"

// scanners are the units of programs that look into each file when it is opened, and
// hold its reader up meanwhile: ClamAV's, Trend Micro's, Kaspersky's, Microsoft's,
// Trellix's (McAfee's) and Sophos'.
func scanners() []string {
	return []string{"clamav-clamonacc.service", "ds_agent.service", "kesl.service", "mdatp.service", "mfetpd.service", "sophos-spl.service"}
}

var antivirus = Check{
	ID: "antivirus", Title: "Virus scanner leaves containers alone", Source: "Mirantis MKE 4k: antivirus guidelines; Docker: antivirus software",
	Breaks: "A scanner holds files that runtime, kubelet and etcd work with: pulls hang, volumes cannot be unmounted, etcd loses its leader.",
	Needs:  []string{"units"}, Run: judgeAntivirus,
}

// judgeAntivirus cannot see what is excluded already: each product keeps that in a
// form of its own, most often on a server of the site.
func judgeAntivirus(f *Facts, w *Want) Result {
	var running []string
	for _, name := range scanners() {
		if f.unit(name).Active() {
			running = append(running, name)
		}
	}
	if len(running) == 0 {
		return pass("none that is known")
	}
	paths := []string{w.imagesPath(), kubeletPath}
	if w.Is(ControlPlane) {
		paths = append(paths, etcdPath, storePath)
	}
	return Result{Warn, strings.Join(running, ", ") + " runs", "no scan on access of " + strings.Join(paths, ", "),
		"have the scanner's owners exclude these directories; then --skip antivirus"}
}
