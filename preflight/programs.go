package preflight

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Programs are programs with the name of one of the cluster's, which come first in PATH.
type Programs struct {
	Shadowing []string `yaml:"shadowing,omitempty" json:"shadowing,omitempty"` // paths
	// Crictl is the runtime endpoint in /etc/crictl.yaml; "" for none.
	Crictl string `yaml:"crictl,omitempty" json:"crictl,omitempty"`
}

const crictlFile = "etc/crictl.yaml"

// startedPrograms are the programs that services and kubeadm start. askedPrograms are those of
// administrators.
func startedPrograms() []string {
	return []string{"kubeadm", "kubelet", "containerd", "containerd-shim-runc-v2", "crio", "conmon", "runc", "crun"}
}

func askedPrograms() []string { return []string{"kubectl", "crictl", "ctr"} }

// shadowPaths are the paths of programs that come before those in /usr/bin, in the PATH of root and
// of systemd's services.
func shadowPaths() []string {
	var paths []string
	for _, dir := range []string{"usr/local/sbin", "usr/local/bin"} {
		for _, name := range slices.Concat(startedPrograms(), askedPrograms()) {
			paths = append(paths, dir+"/"+name)
		}
	}
	return paths
}

var crictlEndpoint = regexp.MustCompile(`(?m)^[ \t]*runtime-endpoint:[ \t]*["']?([^"'\s#]+)`)

func readPrograms(_ context.Context, r reader, f *Facts) error {
	found, err := r.among(shadowPaths())
	if err != nil {
		return err
	}
	for _, path := range found {
		f.Programs.Shadowing = append(f.Programs.Shadowing, "/"+path)
	}
	text, err := r.optional(crictlFile)
	if m := crictlEndpoint.FindStringSubmatch(text); m != nil {
		f.Programs.Crictl = m[1][:min(len(m[1]), maxSourceLine)]
	}
	return err
}

// raw returns a file's content with its white space, so that lines can be counted; "" if it does
// not exist.
func (r reader) raw(path string) (string, error) {
	data, err := fs.ReadFile(r.fs, path)
	if err != nil {
		return r.optional(path) // for its error
	}
	return string(data), nil
}

var programPath = Check{
	ID: "program-path", Title: "Programs of the cluster come first in PATH", Source: "systemd.exec(5): PATH of services; sudoers: secure_path",
	Breaks: "Services and administrators start a program of another version: the runtime starts pods with an old runc, or kubeadm and kubectl work on another cluster.",
	Needs:  []string{"programs"}, Run: judgePrograms,
}

// judgePrograms fails for programs that a service starts. airgap itself starts the programs of
// packages, whatever PATH is.
func judgePrograms(f *Facts, w *Want) Result {
	status := Pass
	var found, fix []string
	for _, file := range f.Programs.Shadowing {
		found = append(found, file)
		if slices.Contains(startedPrograms(), path.Base(file)) && w.starts(path.Base(file)) && !w.Managed {
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
		found = append(found, fmt.Sprintf("/%s has the runtime endpoint %s", crictlFile, have))
		fix = append(fix, "remove /"+crictlFile+": install then writes it")
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
