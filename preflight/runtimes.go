package preflight

import (
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

// oneRuntime is the expected state if another runtime conflicts.
const oneRuntime = "only the runtime of the bundle"

var runtimePresent = Check{
	ID: "runtime-present", Title: "No conflicting container runtime", Source: "kubeadm: more than one CRI socket; kubespray",
	Breaks: "Two runtimes compete for the same socket, unit and directory.",
	Needs:  []string{"runtimes", "units", "packages"}, Run: judgeRuntimes,
}

// judgeRuntimes fails for a runtime with the socket, the directories or the unit name that
// airgap's runtime needs. Other runtimes can stay. airgap does not replace an existing runtime,
// even one from a package, because it cannot know whether the host needs it.
func judgeRuntimes(f *facts.Facts, w *Want) Result {
	if w.Managed {
		return judgeOwnRuntime(f, w)
	}
	containerd := f.OwnerOf("containerd.io", "containerd", "docker.io", "moby-engine")
	if f.Unit("docker.service").Name != "" {
		containerd += ", which Docker uses"
	}
	switch {
	case f.Unit("containerd.service").Active() || f.HasSocket("/run/containerd/containerd.sock"):
		return Result{Fail, "containerd is running (" + containerd + ")", oneRuntime,
			"remove it, together with Docker if Docker uses it; or use another host. Podman can stay"}
	case f.Unit("crio.service").Active() || f.HasSocket("/run/crio/crio.sock"):
		return Result{Fail, "CRI-O is running", oneRuntime, "run systemctl disable --now crio, and remove the package"}
	case w.CRIO && f.Unit("crio.service").Name != "":
		return Result{Fail, "crio.service exists (" + f.OwnerOf("cri-o") + ")", oneRuntime, "remove it"}
	case f.HasSocket("/run/cri-dockerd.sock"):
		return Result{Fail, "cri-dockerd is running", oneRuntime, "remove cri-dockerd"}
	case f.Unit("containerd.service").Name != "":
		return Result{Fail, "containerd.service exists (" + containerd + ")", oneRuntime, "remove it"}
	case f.HasSocket("/run/docker.sock") || f.Unit("docker.service").Name != "":
		return Result{Warn, "Docker is installed", "no Docker", "remove it if the host does not need it: its iptables rules can drop pod packets (FORWARD policy)"}
	default:
		return pass("%s", runtimeNames(f))
	}
}

// judgeOwnRuntime fails if airgap.yaml has another runtime or source than the installation:
// airgap does not replace a runtime while its pods run.
func judgeOwnRuntime(f *facts.Facts, w *Want) Result {
	runtime, other := "containerd", "crio"
	if w.CRIO {
		runtime, other = other, runtime
	}
	if f.Unit(other+".service").Name != "" && f.Unit(runtime+".service").Name == "" {
		return Result{Fail, "airgap has installed " + other + " on this host", runtime + ", as in airgap.yaml", "run airgap reset on this host, and install it again; or set runtime.name: " + other + " in airgap.yaml"}
	}
	if have := f.OwnSource(runtime); have != "" && have != w.runtimeSource() {
		return Result{Fail, "airgap has installed " + runtime + " from its " + have, runtime + " from its " + w.runtimeSource() + ", as in airgap.yaml", "run airgap reset on this host, and install it again; or set runtime.source: " + have + " in airgap.yaml"}
	}
	return skipped("airgap has installed this host's runtime")
}

func (w *Want) runtimeSource() string {
	if w.RuntimePackage != "" {
		return "package"
	}
	return "archive"
}

func runtimeNames(f *facts.Facts) string {
	if len(f.Runtimes.Binaries) == 0 {
		return "none"
	}
	return strings.Join(f.Runtimes.Binaries, ", ") + " can stay"
}
