package preflight

import (
	"context"
	"strings"
)

// Leftover is a trace of a cluster.
type Leftover struct {
	Path string `yaml:"path" json:"path"` // of a file, or "link NAME"
	// Blocks says that kubeadm or the kubelet would stumble over it; the rest
	// is only untidy.
	Blocks bool `yaml:"blocks" json:"blocks"`
}

func blockingLeftovers() []string {
	return []string{"etc/kubernetes/admin.conf", "etc/kubernetes/kubelet.conf", "etc/kubernetes/bootstrap-kubelet.conf",
		"etc/kubernetes/controller-manager.conf", "etc/kubernetes/scheduler.conf", "etc/kubernetes/pki/ca.crt"}
}

func untidyLeftovers() []string {
	return []string{"var/lib/kubelet/config.yaml", "var/lib/rancher/k3s", "var/lib/rancher/rke2", "var/lib/k0s"}
}

// leftoverDir is a directory that may well be there, but empty.
type leftoverDir struct {
	path, suffix string
	blocks       bool
}

func leftoverDirs() []leftoverDir {
	return []leftoverDir{
		{"etc/kubernetes/manifests", ".yaml", true}, {"var/lib/etcd", "", true},
		{"etc/cni/net.d", "", false}, {"var/lib/cni/networks", "", false}, {"var/lib/kubelet/pods", "", false},
	}
}

// readLeftovers looks where kubeadm, CNI plugins and other distributions
// leave things.
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

// firstLeftover passes over what is no cluster's: podman keeps a
// configuration in the CNI directory too, and lost+found marks a file system
// of its own.
func firstLeftover(names []string, suffix string) string {
	for _, name := range names {
		if strings.HasSuffix(name, suffix) && !strings.Contains(name, "podman") && name != "lost+found" {
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

var oldCluster = Check{
	ID: "old-cluster", Title: "No cluster left over", Source: "kubeadm DirAvailable, FileAvailable",
	Breaks: "kubeadm stops at another cluster's files, and its interfaces and rules lead packets astray.",
	Needs:  []string{"leftovers", "units"}, Run: judgeLeftovers,
}

func judgeLeftovers(f *Facts, w *Want) Result {
	if w.Ours {
		return skipped("this host is a node of airgap's own cluster")
	}
	var blocking, untidy []string
	for _, l := range f.Leftovers {
		if l.Blocks {
			blocking = append(blocking, l.Path)
		} else {
			untidy = append(untidy, l.Path)
		}
	}
	for _, name := range []string{"kubelet.service", "k3s.service", "k3s-agent.service", "rke2-server.service", "rke2-agent.service",
		"k0scontroller.service", "k0sworker.service", "microk8s.daemon-kubelite.service"} {
		if f.unit(name).Active() {
			blocking = append(blocking, name+" runs")
		}
	}
	want := "a host that is no node, nor was one"
	switch {
	case len(blocking) > 0:
		return Result{Fail, strings.Join(append(blocking, untidy...), ", "), want,
			"if nothing on it is needed any more: airgap reset (or kubeadm reset, or the other distribution's uninstaller), then reboot"}
	case len(untidy) > 0:
		return Result{Warn, strings.Join(untidy, ", "), want, "remove them, then reboot: airgap reset"}
	default:
		return pass("none")
	}
}
