package preflight

import (
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

// dataPaths are the directories of the cluster's data on a host.
func (w *Want) dataPaths() []string {
	paths := []string{w.imagesPath(), facts.KubeletPath}
	if w.HasRole(ControlPlane) {
		paths = append(paths, facts.EtcdPath)
	}
	if w.HasRole(Registry) {
		paths = append(paths, facts.StorePath)
	}
	return paths
}

// unknownSpace is the result of a check that needs the sizes of a file system without an answer.
func unknownSpace(why []string, want string) Result {
	return Result{Error, "unknown: " + strings.Join(why, "; "), want,
		"run df on the path; unmount a file system whose server does not answer (umount -l), or ask its administrators"}
}
