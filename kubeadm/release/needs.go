package release

import (
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/enterprise"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/reference"
	"k8s.io/apimachinery/pkg/util/version"
)

// Of looks up a version with its patch: "1.36.3".
func Of(text string) (Release, error) {
	v, err := version.ParseSemantic(text)
	if err != nil {
		return Release{}, fmt.Errorf("expected a version with its patch, such as 1.36.3")
	}
	for _, r := range All() {
		if r.Minor == Line(v) {
			return r, nil
		}
	}
	return Release{}, fmt.Errorf("version %s is not supported: choose one of Kubernetes %s", Line(v), minors())
}

const sandboxRepository, proxyRepository = "registry.k8s.io/pause", "registry.k8s.io/kube-proxy"

// Images are the images that a cluster of this version starts with, sorted.
func Images(version string) ([]string, error) {
	r, err := Of(version)
	if err != nil {
		return nil, err
	}
	images := []string{
		"registry.k8s.io/coredns/coredns:" + r.CoreDNS,
		"registry.k8s.io/etcd:" + r.Etcd,
		sandboxRepository + ":" + r.Pause, proxyRepository + ":" + Tag(version),
	}
	for _, name := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		images = append(images, "registry.k8s.io/"+name+":"+Tag(version))
	}
	slices.Sort(images)
	return images, nil
}

// NodeImages are those among a cluster's images that every node runs.
func NodeImages(images []string) []string {
	return reference.Among(images, sandboxRepository, proxyRepository)
}

// Sandbox is the one among a cluster's images that holds every pod's namespaces.
func Sandbox(images []string) (string, error) {
	if found := reference.Among(images, sandboxRepository); len(found) > 0 {
		return found[0], nil
	}
	return "", &host.Failure{What: "find the image of every pod's sandbox", Err: fmt.Errorf("the bundle has no %s", sandboxRepository), Next: "make the bundle again from this airgap.yaml"}
}

// Repository is where the RPMs of one minor come from.
type Repository struct {
	Name, BaseURL, GPGKey string
}

// PackageRepository is the Kubernetes project's repository of a version's minor.
func PackageRepository(text string) (Repository, error) {
	if _, err := Of(text); err != nil {
		return Repository{}, err
	}
	v := version.MustParseSemantic(text)
	base := fmt.Sprintf("https://pkgs.k8s.io/core:/stable:/v%d.%d/rpm/", v.Major(), v.Minor())
	return Repository{Name: "kubernetes", BaseURL: base, GPGKey: base + "repodata/repomd.xml.key"}, nil
}

// Packages are the RPMs to install on every node, as dnf takes them: NAME or
// NAME-VERSION. The solver adds their dependencies. The list also
// has programs that kubelet, kube-proxy or the runtime call without a dependency in their RPM.
// os is one of enterprise.Names.
func Packages(version, os string) []string {
	version = strings.TrimPrefix(version, "v")
	return []string{
		"kubelet-" + version, "kubeadm-" + version, "kubectl-" + version,
		"container-selinux", // the runtime comes as an archive that cannot ask for its policy
		"conntrack-tools", "ethtool", "iproute", enterprise.Of(os).Iptables, "socat",
	}
}
