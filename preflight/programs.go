package preflight

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

var programPath = Check{
	ID: "program-path", Title: "Programs of the cluster come first in PATH", Source: "systemd.exec(5): PATH of services; sudoers: secure_path",
	Breaks: "Services and administrators start a program of another version: the runtime starts pods with an old runc, or kubeadm and kubectl work on another cluster.",
	Needs:  []string{"programs"}, Run: judgePrograms,
}

// judgePrograms fails for programs that a service starts. airgap itself starts the programs of
// packages, whatever PATH is.
func judgePrograms(f *facts.Facts, w *Want) Result {
	status := Pass
	var found, fix []string
	for _, file := range f.Programs.Shadowing {
		found = append(found, file)
		if slices.Contains(facts.StartedPrograms(), path.Base(file)) && w.starts(path.Base(file)) && !w.Managed {
			status = Fail
		} else {
			status = worse(status, Warn)
		}
	}
	if len(found) > 0 {
		found = []string{strings.Join(found, ", ") + " before the program of the cluster"}
		fix = append(fix, "remove or rename "+strings.Join(f.Programs.Shadowing, ", "))
	}
	if have := f.Programs.Crictl; have != "" && !strings.HasSuffix(have, w.socket()) {
		status = worse(status, Warn)
		found = append(found, fmt.Sprintf("/%s has the runtime endpoint %s", facts.CrictlFile, have))
		fix = append(fix, "remove /"+facts.CrictlFile+": install then writes it")
	}
	if status == Pass {
		return pass("none")
	}
	return Result{status, strings.Join(found, "; "), "only the programs of the cluster", strings.Join(fix, "; ")}
}

// starts reports whether a service of the cluster or an administrator can start the program. The
// units of the other runtime do not exist, and a runtime from an archive prefers its own directory.
func (w *Want) starts(name string) bool {
	switch name {
	case "kubeadm", "kubelet":
		return true
	case "crio", "conmon", "crun":
		return w.CRIO && w.RuntimePackage != ""
	case "containerd", "containerd-shim-runc-v2":
		return !w.CRIO && w.RuntimePackage != ""
	default:
		return w.RuntimePackage != ""
	}
}

// socket is the path of the runtime's socket.
func (w *Want) socket() string {
	if w.CRIO {
		return "/run/crio/crio.sock"
	}
	return "/run/containerd/containerd.sock"
}
