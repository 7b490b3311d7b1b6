package recipe

import "strings"

// Versions of the components. Tags, file names and version stamps use them.
const (
	Kubernetes  = "1.36.3"
	Etcd        = "3.6.8"
	CoreDNS     = "1.14.2"
	Flannel     = "0.28.4"
	CNIPlugins  = "1.9.1"
	Containerd  = "2.3.7"
	Containerd1 = "1.7.35" // of the previous major version, for Kubernetes 1.35
	CRIO        = "1.36.3"
	CRITools    = "1.36.0"
	Runc        = "1.5.2"

	DevicePlugin     = "0.19.0"
	ContainerToolkit = "1.20.1"
)

// Cluster is a Kubernetes minor with the versions of the other components that kubeadm
// installs. Each component has its own recipe.
type Cluster struct {
	Minor, Kubernetes, Etcd, CoreDNS, Pause string

	suffix string // of the names of the recipes
}

// Current returns the minor that scenarios install by default.
func Current() Cluster { return Cluster{"1.36", Kubernetes, Etcd, CoreDNS, "3.10.2", ""} }

// Before returns the previous minor, for scenarios that request it.
func Before() Cluster { return Cluster{"1.35", "1.35.8", "3.6.6", "1.13.1", "3.10.1", "135"} }

// After returns the next minor, for scenarios that request it.
func After() Cluster { return Cluster{"1.37", "1.37.2", "3.7.0", "1.14.6", "3.10.2", "137"} }

// Program returns the path of a component's program, relative to the results of all recipes.
func (c Cluster) Program(component, name string) string { return component + c.suffix + "/" + name }

// Recipes returns the recipes of the components in a cluster.
func (c Cluster) Recipes() []Recipe {
	major, minor, _ := strings.Cut(c.Minor, ".")
	return []Recipe{
		{
			Name: "kubernetes" + c.suffix, Dir: "upstream/recipes/kubernetes" + c.suffix, Packages: []string{"tool"}, Seconds: 600,
			// kubeadm does not run without a version, and joins no API server without one.
			Stamp: map[string]string{
				"k8s.io/component-base/version.gitVersion": "v" + c.Kubernetes,
				"k8s.io/component-base/version.gitMajor":   major,
				"k8s.io/component-base/version.gitMinor":   minor,
			},
		},
		{
			Name: "etcd" + c.suffix, Dir: "upstream/recipes/etcd" + c.suffix, Packages: []string{"tool"}, Seconds: 90,
			Rename: map[string]string{"server": "etcd"},
		},
		{
			Name: "coredns" + c.suffix, Dir: "upstream/recipes/coredns" + c.suffix, Packages: []string{"."}, Seconds: 100,
			Rename: map[string]string{"coredns" + c.suffix: "coredns"},
		},
	}
}

// All returns the recipes that every scenario needs.
func All() []Recipe { return append(Default(), otherRuntimes()...) }

// Default returns the recipes of a cluster with default settings. Kubernetes is first, because it takes longest.
func Default() []Recipe {
	return append(Current().Recipes(), []Recipe{
		{
			Name: "containerd", Dir: "upstream/recipes/containerd", Packages: []string{"tool"}, Seconds: 80,
			Tags:  []string{"no_btrfs", "no_devmapper", "no_zfs"},
			Stamp: map[string]string{"github.com/containerd/containerd/v2/version.Version": "v" + Containerd},
		},
		{
			Name: "crictl", Dir: "upstream/recipes/crictl", Packages: []string{"tool"}, Seconds: 30,
			Stamp: map[string]string{"sigs.k8s.io/cri-tools/pkg/version.Version": "v" + CRITools},
		},
		{
			Name: "runc", Dir: "upstream/recipes/runc", Packages: []string{"tool"}, Seconds: 10, Cgo: true,
			Tags: []string{"seccomp", "netgo", "osusergo"},
		},
		{
			Name: "flannel", Dir: "upstream/recipes/flannel", Packages: []string{"tool"}, Seconds: 45, Cgo: true,
			Tags:   []string{"netgo", "osusergo"},
			Stamp:  map[string]string{"github.com/flannel-io/flannel/pkg/version.Version": "v" + Flannel},
			Rename: map[string]string{"flannel": "flanneld"},
		},
		{
			Name: "cni-plugins", Dir: "upstream/recipes/cni-plugins", Packages: []string{"tool"}, Seconds: 10,
			Stamp: map[string]string{"github.com/containernetworking/plugins/pkg/utils/buildversion.BuildVersion": "v" + CNIPlugins},
		},
		{Name: "programs", Dir: "upstream/programs", Packages: []string{"./..."}},
	}...)
}

func otherRuntimes() []Recipe {
	return []Recipe{
		{
			Name: "containerd1", Dir: "upstream/recipes/containerd1", Packages: []string{"tool"}, Seconds: 70,
			Tags:  []string{"no_btrfs", "no_devmapper", "no_zfs", "no_aufs"},
			Stamp: map[string]string{"github.com/containerd/containerd/version.Version": "v" + Containerd1},
		},
		{
			Name: "crio", Dir: "upstream/recipes/crio", Packages: []string{"tool"}, Seconds: 110,
			Cgo:  true,
			Tags: []string{"containers_image_openpgp", "containers_image_ostree_stub", "exclude_graphdriver_btrfs", "seccomp", "netgo", "osusergo"},
			C:    []C{{Program: "pinns", Module: "github.com/cri-o/cri-o", Sources: "pinns/src/*.c"}},
		},
	}
}

// GPU returns the recipes of NVIDIA's open-source programs, for scenarios with GPUs.
func GPU() []Recipe {
	return []Recipe{
		{
			Name: "device-plugin", Dir: "upstream/recipes/device-plugin", Packages: []string{"tool"}, Dlopen: true,
			Stamp: map[string]string{"github.com/NVIDIA/k8s-device-plugin/internal/info.version": "v" + DevicePlugin},
		},
		{
			Name: "container-toolkit", Dir: "upstream/recipes/container-toolkit", Packages: []string{"tool"}, Dlopen: true,
			Stamp: map[string]string{"github.com/NVIDIA/nvidia-container-toolkit/internal/info.version": ContainerToolkit},
		},
	}
}
