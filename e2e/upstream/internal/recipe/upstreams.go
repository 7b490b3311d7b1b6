package recipe

// Versions of the components; tags, file names and version stamps follow them.
const (
	Kubernetes  = "1.36.3"
	Etcd        = "3.6.8"
	CoreDNS     = "1.14.2"
	Flannel     = "0.28.4"
	CNIPlugins  = "1.9.1"
	Containerd  = "2.3.7"
	Containerd1 = "1.7.35" // of the line before, which Kubernetes 1.35 takes
	Runc        = "1.5.2"
)

// All lists the recipes, the longest build first.
func All() []Recipe {
	return []Recipe{
		{
			Name: "kubernetes", Dir: "upstream/recipes/kubernetes", Packages: []string{"tool"},
			// kubeadm refuses to run, and the API server to be joined, without a version.
			Stamp: map[string]string{
				"k8s.io/component-base/version.gitVersion": "v" + Kubernetes,
				"k8s.io/component-base/version.gitMajor":   "1",
				"k8s.io/component-base/version.gitMinor":   "36",
			},
		},
		{
			Name: "containerd", Dir: "upstream/recipes/containerd", Packages: []string{"tool"},
			Tags:  []string{"no_btrfs", "no_devmapper", "no_zfs"},
			Stamp: map[string]string{"github.com/containerd/containerd/v2/version.Version": "v" + Containerd},
		},
		{
			Name: "containerd1", Dir: "upstream/recipes/containerd1", Packages: []string{"tool"},
			Tags:  []string{"no_btrfs", "no_devmapper", "no_zfs", "no_aufs"},
			Stamp: map[string]string{"github.com/containerd/containerd/version.Version": "v" + Containerd1},
		},
		{
			Name: "runc", Dir: "upstream/recipes/runc", Packages: []string{"tool"}, Cgo: true,
			Tags: []string{"seccomp", "netgo", "osusergo"},
		},
		{
			Name: "etcd", Dir: "upstream/recipes/etcd", Packages: []string{"tool"},
			Rename: map[string]string{"server": "etcd"},
		},
		{
			Name: "flannel", Dir: "upstream/recipes/flannel", Packages: []string{"tool"}, Cgo: true,
			Tags:   []string{"netgo", "osusergo"},
			Stamp:  map[string]string{"github.com/flannel-io/flannel/pkg/version.Version": "v" + Flannel},
			Rename: map[string]string{"flannel": "flanneld"},
		},
		{
			Name: "cni-plugins", Dir: "upstream/recipes/cni-plugins", Packages: []string{"tool"},
			Stamp: map[string]string{"github.com/containernetworking/plugins/pkg/utils/buildversion.BuildVersion": "v" + CNIPlugins},
		},
		{Name: "coredns", Dir: "upstream/recipes/coredns", Packages: []string{"tool"}},
		{Name: "programs", Dir: "upstream/programs", Packages: []string{"./..."}},
	}
}
