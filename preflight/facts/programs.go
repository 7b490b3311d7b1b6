package facts

import (
	"context"
	"io/fs"
	"regexp"
	"slices"
)

// Programs are programs with the name of one of the cluster's, which come first in PATH.
type Programs struct {
	Shadowing []string `yaml:"shadowing,omitempty" json:"shadowing,omitempty"` // paths
	// Crictl is the runtime endpoint in /etc/crictl.yaml; "" for none.
	Crictl string `yaml:"crictl,omitempty" json:"crictl,omitempty"`
}

const CrictlFile = "etc/crictl.yaml"

// StartedPrograms are the programs that services and kubeadm start. askedPrograms are those of
// administrators.
func StartedPrograms() []string {
	return []string{"kubeadm", "kubelet", "containerd", "containerd-shim-runc-v2", "crio", "conmon", "runc", "crun"}
}

func askedPrograms() []string { return []string{"kubectl", "crictl", "ctr"} }

// shadowPaths are the paths of programs that come before those in /usr/bin, in the PATH of root and
// of systemd's services.
func shadowPaths() []string {
	var paths []string
	for _, dir := range []string{"usr/local/sbin", "usr/local/bin"} {
		for _, name := range slices.Concat(StartedPrograms(), askedPrograms()) {
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
	text, err := r.optional(CrictlFile)
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
