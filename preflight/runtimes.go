package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Runtimes are the container runtimes on the host.
type Runtimes struct {
	Sockets  []string `yaml:"sockets,omitempty" json:"sockets,omitempty"`   // that exist, as paths
	Binaries []string `yaml:"binaries,omitempty" json:"binaries,omitempty"` // that exist, as paths
}

// runtimeSockets are the CRI's, and Docker's own.
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

var runtimePresent = Check{
	ID: "runtime-present", Title: "No other container runtime in the way", Source: "kubeadm: more than one CRI socket; kubespray",
	Breaks: "Two runtimes fight over one socket, one unit and one directory.",
	Needs:  []string{"runtimes", "units", "packages"}, Run: judgeRuntimes,
}

// judgeRuntimes: airgap brings a runtime of its own, which needs the well-known
// socket, directories and unit name; anything else may stay. One that is there already,
// from a package too, is somebody's: nobody can tell that it is not needed.
func judgeRuntimes(f *Facts, w *Want) Result {
	if w.Ours {
		return judgeOwnRuntime(f, w)
	}
	containerd := f.ownerOf("containerd.io", "containerd", "docker.io", "moby-engine")
	if f.unit("docker.service").Name != "" {
		containerd += ", which Docker uses"
	}
	switch {
	case f.unit("containerd.service").Active() || f.has("/run/containerd/containerd.sock"):
		return Result{Fail, "a containerd runs (" + containerd + ")", "one runtime: the bundle brings its own",
			"remove it, and Docker with it where it belongs to Docker; or use another host. Podman may stay"}
	case f.unit("crio.service").Active() || f.has("/run/crio/crio.sock"):
		return Result{Fail, "CRI-O runs", "one runtime: the bundle brings its own", "systemctl disable --now crio; remove the package"}
	case w.CRIO && f.unit("crio.service").Name != "":
		return Result{Fail, "a crio.service exists (" + f.ownerOf("cri-o") + ")", "one runtime: the bundle brings its own", "remove it"}
	case f.has("/run/cri-dockerd.sock"):
		return Result{Fail, "cri-dockerd runs", "one runtime: the bundle brings its own", "remove cri-dockerd"}
	case f.unit("containerd.service").Name != "":
		return Result{Fail, "a containerd.service exists (" + containerd + ")", "one runtime: the bundle brings its own", "remove it"}
	case f.has("/run/docker.sock") || f.unit("docker.service").Name != "":
		return Result{Warn, "Docker is there", "no Docker", "its iptables rules may drop the pods' packets (FORWARD policy); remove it where it is not needed"}
	default:
		return pass("%s", f.runtimeNames())
	}
}

// judgeOwnRuntime: one runtime does not take the other's place while its pods run.
func judgeOwnRuntime(f *Facts, w *Want) Result {
	wanted, other := "containerd", "crio"
	if w.CRIO {
		wanted, other = other, wanted
	}
	if f.unit(other+".service").Name != "" && f.unit(wanted+".service").Name == "" {
		return Result{Fail, "airgap has installed this host with " + other, wanted + ", by airgap.yaml", "airgap reset this host first, and install it again; or runtime.name: " + other + " in airgap.yaml"}
	}
	if have := f.ownSource(wanted); have != "" && have != w.runtimeSource() {
		return Result{Fail, "airgap has installed this host's " + wanted + " from its " + have, "the one of its " + w.runtimeSource() + ", by airgap.yaml", "airgap reset this host first, and install it again; or runtime.source: " + have + " in airgap.yaml"}
	}
	return skipped("this host's own cluster brought its runtime")
}

// ownSource is where the runtime came from that airgap has set up, "" where it has not
// come so far.
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

// ownerOf is the first of the packages that is installed, with its version.
func (f *Facts) ownerOf(names ...string) string {
	for _, name := range names {
		if p := f.installed(name); p != nil {
			return fmt.Sprintf("package %s %s", p.Name, p.Version)
		}
	}
	return "of no known package"
}

func (f *Facts) runtimeNames() string {
	if len(f.Runtimes.Binaries) == 0 {
		return "none"
	}
	return strings.Join(f.Runtimes.Binaries, ", ") + " may stay"
}
