package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Runtimes are the traces of container runtimes on the host.
type Runtimes struct {
	Sockets  []string `yaml:"sockets,omitempty" json:"sockets,omitempty"`   // that exist, as paths
	Binaries []string `yaml:"binaries,omitempty" json:"binaries,omitempty"` // that exist, as paths
}

// runtimeSockets are the CRI sockets, and the ones of Docker and Podman.
func runtimeSockets() []string {
	return []string{"run/containerd/containerd.sock", "run/crio/crio.sock", "run/cri-dockerd.sock", "run/docker.sock", "run/podman/podman.sock"}
}

func runtimeBinaries() []string {
	var paths []string
	for _, name := range []string{"containerd", "crio", "dockerd", "cri-dockerd", "podman", "runc", "crun"} {
		for _, dir := range []string{"usr/bin", "usr/local/bin", "usr/sbin", "opt/airgap/bin"} {
			paths = append(paths, dir+"/"+name)
		}
	}
	return paths
}

func readRuntimes(_ context.Context, r reader, f *Facts) error {
	sockets, err := r.among(runtimeSockets())
	if err != nil {
		return err
	}
	for _, path := range sockets {
		f.Runtimes.Sockets = append(f.Runtimes.Sockets, "/"+path)
	}
	for _, path := range runtimeBinaries() {
		if r.exists(path) {
			f.Runtimes.Binaries = append(f.Runtimes.Binaries, "/"+path)
		}
	}
	return nil
}

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
func judgeRuntimes(f *Facts, w *Want) Result {
	if w.Managed {
		return judgeOwnRuntime(f, w)
	}
	containerd := f.ownerOf("containerd.io", "containerd", "docker.io", "moby-engine")
	if f.unit("docker.service").Name != "" {
		containerd += ", which Docker uses"
	}
	switch {
	case f.unit("containerd.service").Active() || f.has("/run/containerd/containerd.sock"):
		return Result{Fail, "containerd is running (" + containerd + ")", oneRuntime,
			"remove it, together with Docker if Docker uses it; or use another host. Podman can stay"}
	case f.unit("crio.service").Active() || f.has("/run/crio/crio.sock"):
		return Result{Fail, "CRI-O is running", oneRuntime, "run systemctl disable --now crio, and remove the package"}
	case w.CRIO && f.unit("crio.service").Name != "":
		return Result{Fail, "crio.service exists (" + f.ownerOf("cri-o") + ")", oneRuntime, "remove it"}
	case f.has("/run/cri-dockerd.sock"):
		return Result{Fail, "cri-dockerd is running", oneRuntime, "remove cri-dockerd"}
	case f.unit("containerd.service").Name != "":
		return Result{Fail, "containerd.service exists (" + containerd + ")", oneRuntime, "remove it"}
	case f.has("/run/docker.sock") || f.unit("docker.service").Name != "":
		return Result{Warn, "Docker is installed", "no Docker", "remove it if the host does not need it: its iptables rules can drop pod packets (FORWARD policy)"}
	default:
		return pass("%s", f.runtimeNames())
	}
}

// judgeOwnRuntime fails if airgap.yaml has another runtime or source than the installation:
// airgap does not replace a runtime while its pods run.
func judgeOwnRuntime(f *Facts, w *Want) Result {
	runtime, other := "containerd", "crio"
	if w.CRIO {
		runtime, other = other, runtime
	}
	if f.unit(other+".service").Name != "" && f.unit(runtime+".service").Name == "" {
		return Result{Fail, "airgap has installed " + other + " on this host", runtime + ", as in airgap.yaml", "run airgap reset on this host, and install it again; or set runtime.name: " + other + " in airgap.yaml"}
	}
	if have := f.ownSource(runtime); have != "" && have != w.runtimeSource() {
		return Result{Fail, "airgap has installed " + runtime + " from its " + have, runtime + " from its " + w.runtimeSource() + ", as in airgap.yaml", "run airgap reset on this host, and install it again; or set runtime.source: " + have + " in airgap.yaml"}
	}
	return skipped("airgap has installed this host's runtime")
}

// ownSource is the source of the runtime that airgap has installed; "" if it is not installed yet.
func (f *Facts) ownSource(runtime string) string {
	switch {
	case f.unit(runtime+".service").Name == "":
		return ""
	case slices.Contains(f.Runtimes.Binaries, "/opt/airgap/bin/"+runtime):
		return "archive"
	default:
		return "package"
	}
}

func (w *Want) runtimeSource() string {
	if w.RuntimePackage != "" {
		return "package"
	}
	return "archive"
}

func (f *Facts) has(socket string) bool { return slices.Contains(f.Runtimes.Sockets, socket) }

// ownerOf is the first installed package of the list, with its version.
func (f *Facts) ownerOf(names ...string) string {
	for _, name := range names {
		if p := f.installed(name); p != nil {
			return fmt.Sprintf("package %s %s", p.Name, p.Version)
		}
	}
	return "from an unknown source"
}

func (f *Facts) runtimeNames() string {
	if len(f.Runtimes.Binaries) == 0 {
		return "none"
	}
	return strings.Join(f.Runtimes.Binaries, ", ") + " can stay"
}
