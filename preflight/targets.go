package preflight

import (
	"fmt"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

var dataLinks = Check{
	ID: "data-links", Title: "Data directories are no symbolic links", Source: "kubernetes#68740, k3s#11806, containerd#5249",
	Breaks: "The kubelet cannot unmount volumes behind a link: pods stay in Terminating. containerd does not support a link.",
	Needs:  []string{"targets"}, Run: judgeDataLinks,
}

// judgeDataLinks fails for the kubelet, which compares its own path with the kernel's list of mounts.
func judgeDataLinks(f *facts.Facts, w *Want) Result {
	status := Pass
	var found []string
	for _, p := range w.dataPaths() {
		target := f.Target(p)
		if target == p {
			continue
		}
		status = worse(status, Warn)
		if p == facts.KubeletPath {
			status = Fail
		}
		found = append(found, fmt.Sprintf("%s is %s", p, target))
	}
	if status == Pass {
		return pass("none")
	}
	return Result{status, strings.Join(found, ", "), "directories, or mount points",
		"replace the link by a bind mount: stop the programs, remove the link, mkdir the directory, and add 'TARGET PATH none bind 0 0' to /etc/fstab; or mount the file system itself there"}
}
