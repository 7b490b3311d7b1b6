package node

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/process"
)

// ManifestOf is the file by which the kubelet runs a program as a static pod.
func ManifestOf(part Part) string { return ManifestsDir + "/" + string(part) + ".yaml" }

// Flags returns the arguments of the running program of a static pod, by name. Its files may
// have changed since.
func Flags(m host.Machine, part Part) (map[string]string, error) {
	p, err := StaticPod(m, part)
	return p.Flags, err
}

// StaticPod finds the program of a static pod. etcd takes some arguments from its
// environment.
func StaticPod(m host.Machine, part Part) (process.Process, error) {
	text, err := os.ReadFile(m.Path(ManifestOf(part)))
	if errors.Is(err, fs.ErrNotExist) {
		err = process.ErrNone
	}
	var p process.Process
	if err == nil {
		p, err = process.Find(m.Host.FS(), process.Identity{Program: string(part), User: userOf(text), Static: true})
	}
	if err != nil {
		return p, fmt.Errorf("read the arguments of %s: %w", part, err)
	}
	for name, value := range p.Env {
		if flag, is := EtcdFlag(name); is && part == Etcd && p.Flags[flag] == "" {
			p.Flags[flag] = value
		}
	}
	return p, nil
}

// EtcdFlag is the argument that a variable of etcd's stands for.
func EtcdFlag(variable string) (string, bool) {
	name, is := strings.CutPrefix(variable, "ETCD_")
	return strings.ReplaceAll(strings.ToLower(name), "_", "-"), is
}

// userOf returns the user in a manifest: root, or kubeadm's user for the feature gate
// RootlessControlPlane. It is root if the manifest cannot be read.
func userOf(manifest []byte) int64 {
	pod, err := PodIn(manifest)
	if err != nil {
		return 0
	}
	var ofPod, ofContainer *int64
	if c := pod.Spec.SecurityContext; c != nil {
		ofPod = c.RunAsUser
	}
	if c := pod.Spec.Containers[0].SecurityContext; c != nil {
		ofContainer = c.RunAsUser
	}
	return *cmp.Or(ofContainer, ofPod, new(int64))
}

// KubeletProcess finds the host's kubelet, which no pod runs.
func KubeletProcess(m host.Machine) (process.Process, error) {
	p, err := process.Find(m.Host.FS(), process.Identity{Program: string(Kubelet)})
	if err != nil {
		return p, fmt.Errorf("read the arguments of %s: %w", Kubelet, err)
	}
	return p, nil
}

// maxNamed is the largest file that is read because an argument names it.
const maxNamed = 16 << 20

// Read reads a file that an argument names, as the process sees it. A link in a
// container leads nowhere on the host.
func Read(m host.Machine, p process.Process, name string) ([]byte, error) {
	dir := m.Path("/" + p.Dir + "/root")
	if _, err := os.Stat(dir); err != nil {
		dir = m.Path("/")
	}
	root, err := host.OpenOwned(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.ReadFile(strings.TrimPrefix(path.Clean("/"+name), "/"), maxNamed)
}
