package runtime

import (
	"fmt"

	"airgap.dev/airgap/internal/enterprise"
	"k8s.io/apimachinery/pkg/util/version"

	"airgap.dev/airgap/kubeadm/release"
)

// Packages returns the RPMs of the runtime, as arguments of dnf; none for an archive. The solver
// resolves their dependencies and conflicts: containerd.io obsoletes the vendor's containerd and
// runc.
func (r Config) Packages() []string {
	if r.Package() == "" {
		return nil
	}
	return []string{r.Package() + "-" + r.Version}
}

// PackageRepositories returns the repositories of Packages for one of enterprise.Names: Docker's
// for RHEL (docs.docker.com: Install Docker Engine on RHEL), or the CRI-O project's for the
// runtime's minor version (cri-o/packaging: README). r must be valid.
func (r Config) PackageRepositories(os string) []release.Repository {
	switch r.Package() {
	case containerdPackage().rpm:
		const base = "https://download.docker.com/linux/rhel/"
		return []release.Repository{{Name: "docker-ce", BaseURL: base + enterprise.Of(os).Major() + "/x86_64/stable/", GPGKey: base + "gpg"}}
	case crioPackage().rpm:
		v := version.MustParseSemantic(r.Version)
		base := fmt.Sprintf("https://pkgs.k8s.io/addons:/cri-o:/stable:/v%s/rpm/", release.Line(v))
		return []release.Repository{{Name: "cri-o", BaseURL: base, GPGKey: base + "repodata/repomd.xml.key"}}
	default:
		return nil
	}
}
