package kubeadm

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// release is what one minor of Kubernetes comes with.
type release struct{ etcd, coredns, pause string }

// releases are the constants of kubeadm's own source (cmd/kubeadm/app/
// constants/constants.go: DefaultEtcdVersion, CoreDNSVersion, PauseVersion) at
// the tags of each minor. 1.36 was checked against `kubeadm config images
// list`, which is also what the tests do where a kubeadm is at hand.
func releases() map[uint]release {
	return map[uint]release{
		35: {etcd: "3.6.6-0", coredns: "v1.13.1", pause: "3.10.1"},
		36: {etcd: "3.6.8-0", coredns: "v1.14.2", pause: "3.10.2"},
		37: {etcd: "3.7.0-0", coredns: "v1.14.6", pause: "3.10.2"},
	}
}

// releaseOf looks up a version with its patch: "1.36.3".
func releaseOf(text string) (release, error) {
	v, err := version.ParseSemantic(text)
	if err != nil {
		return release{}, fmt.Errorf("expected a version with its patch, such as 1.36.3")
	}
	r, ok := releases()[v.Minor()]
	if v.Major() != 1 || !ok {
		return release{}, fmt.Errorf("version %d.%d is not supported: Kubernetes 1.35, 1.36 and 1.37 are", v.Major(), v.Minor())
	}
	return r, nil
}

// Images are the images that a cluster of this version starts with, sorted.
func Images(version string) ([]string, error) {
	r, err := releaseOf(version)
	if err != nil {
		return nil, err
	}
	images := []string{
		"registry.k8s.io/coredns/coredns:" + r.coredns,
		"registry.k8s.io/etcd:" + r.etcd,
		"registry.k8s.io/pause:" + r.pause,
	}
	for _, name := range []string{"kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler"} {
		images = append(images, "registry.k8s.io/"+name+":"+tag(version))
	}
	slices.Sort(images)
	return images, nil
}

// Sandbox is the image that holds every pod's namespaces in this version.
func Sandbox(version string) (string, error) {
	r, err := releaseOf(version)
	if err != nil {
		return "", err
	}
	return "registry.k8s.io/pause:" + r.pause, nil
}

// Repository is where the RPMs of one minor come from.
type Repository struct {
	Name, BaseURL, GPGKey string
}

// PackageRepository is the Kubernetes project's repository of a version's minor.
func PackageRepository(text string) (Repository, error) {
	if _, err := releaseOf(text); err != nil {
		return Repository{}, err
	}
	v := version.MustParseSemantic(text)
	base := fmt.Sprintf("https://pkgs.k8s.io/core:/stable:/v%d.%d/rpm/", v.Major(), v.Minor())
	return Repository{Name: "kubernetes", BaseURL: base, GPGKey: base + "repodata/repomd.xml.key"}, nil
}

// Packages are the RPMs to install on every node, as dnf takes them: NAME or
// NAME-VERSION. Their dependencies are the solver's business; named here too
// is what kubelet, kube-proxy or the runtime call without their RPM saying so.
// os is "el8", "el9" or "el10".
func Packages(version, os string) []string {
	version = strings.TrimPrefix(version, "v")
	iptables := "iptables-nft"
	if os == "el8" {
		iptables = "iptables" // EL8 ships the nft flavour under the plain name
	}
	return []string{
		"kubelet-" + version, "kubeadm-" + version, "kubectl-" + version,
		"container-selinux", // containerd comes as an archive that cannot ask for its policy
		"conntrack-tools", "ethtool", "iproute", iptables, "socat",
	}
}
