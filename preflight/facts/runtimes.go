package facts

import (
	"context"
	"fmt"
	"slices"
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

// OwnSource is the source of the runtime that airgap has installed; "" if it is not installed yet.
func (f *Facts) OwnSource(runtime string) string {
	switch {
	case f.Unit(runtime+".service").Name == "":
		return ""
	case slices.Contains(f.Runtimes.Binaries, "/opt/airgap/bin/"+runtime):
		return "archive"
	default:
		return "package"
	}
}

// HasSocket reports whether the socket of a runtime exists: "/run/docker.sock".
func (f *Facts) HasSocket(socket string) bool { return slices.Contains(f.Runtimes.Sockets, socket) }

// OwnerOf is the first installed package of the list, with its version.
func (f *Facts) OwnerOf(names ...string) string {
	for _, name := range names {
		if p := f.Installed(name); p != nil {
			return fmt.Sprintf("package %s %s", p.Name, p.Version)
		}
	}
	return "from an unknown source"
}
