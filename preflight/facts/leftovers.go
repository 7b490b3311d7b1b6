package facts

import (
	"context"
	"strings"
)

// Leftover is a file or network link of an earlier cluster.
type Leftover struct {
	Path string `yaml:"path" json:"path"` // of a file, or "link NAME"
	// Blocks is true if kubeadm or the kubelet fails because of it.
	Blocks bool `yaml:"blocks" json:"blocks"`
}

func blockingLeftovers() []string {
	return []string{"etc/kubernetes/admin.conf", "etc/kubernetes/kubelet.conf", "etc/kubernetes/bootstrap-kubelet.conf",
		"etc/kubernetes/controller-manager.conf", "etc/kubernetes/scheduler.conf", "etc/kubernetes/pki/ca.crt"}
}

func untidyLeftovers() []string {
	return []string{"var/lib/kubelet/config.yaml", "var/lib/kubelet/kubeadm-flags.env", "etc/kubernetes/kubelet", "etc/kubernetes/config", "root/.kube/config", "var/lib/rancher/k3s", "var/lib/rancher/rke2", "var/lib/k0s"}
}

// leftoverDir is a directory that may exist, but must be empty.
type leftoverDir struct {
	path, suffix string
	blocks       bool
}

func leftoverDirs() []leftoverDir {
	return []leftoverDir{
		{"etc/kubernetes/manifests", ".yaml", true}, {"var/lib/etcd", "", true},
		{"var/lib/cni/networks", "", false}, {"var/lib/kubelet/pods", "", false},
	}
}

// readLeftovers looks for the files and links of kubeadm, CNI plugins and other distributions.
func readLeftovers(_ context.Context, r reader, f *Facts) error {
	blocking, err := r.among(blockingLeftovers())
	if err != nil {
		return err
	}
	untidy, err := r.among(untidyLeftovers())
	if err != nil {
		return err
	}
	f.addLeftovers(blocking, true)
	f.addLeftovers(untidy, false)
	if err := readLeftoverDirs(r, f); err != nil {
		return err
	}
	return readLeftoverLinks(r, f)
}

func (f *Facts) addLeftovers(paths []string, blocks bool) {
	for _, path := range paths {
		f.Leftovers = append(f.Leftovers, Leftover{"/" + path, blocks})
	}
}

func readLeftoverDirs(r reader, f *Facts) error {
	for _, dir := range leftoverDirs() {
		names, err := r.names(dir.path)
		if err != nil {
			return err
		}
		if name := firstLeftover(names, dir.suffix); name != "" {
			f.addLeftovers([]string{dir.path + "/" + name}, dir.blocks)
		}
	}
	return nil
}

// firstLeftover ignores lost+found of a separate file system.
func firstLeftover(names []string, suffix string) string {
	for _, name := range names {
		if strings.HasSuffix(name, suffix) && name != "lost+found" {
			return name
		}
	}
	return ""
}

func readLeftoverLinks(r reader, f *Facts) error {
	links, err := r.names("sys/class/net")
	if err != nil {
		return err
	}
	for _, link := range links {
		for _, prefix := range []string{"cni0", "flannel.", "vxlan.calico", "cali", "cilium_", "kube-ipvs0"} {
			if strings.HasPrefix(link, prefix) {
				f.Leftovers = append(f.Leftovers, Leftover{"link " + link, false})
			}
		}
	}
	return nil
}
