package kubeadm

import (
	"fmt"

	"airgap.dev/airgap/internal/enterprise"
	"k8s.io/apimachinery/pkg/util/version"
)

// Packages are the RPMs that bring the runtime, as dnf takes them; none where it comes as
// an archive. What they require is the solver's business, and so is what they do not go
// together with: containerd.io obsoletes the vendor's containerd and runc.
func (r Runtime) Packages() []string {
	if r.Package() == "" {
		return nil
	}
	return []string{r.Package() + "-" + r.Version}
}

// PackageRepositories are where Packages come from, for one of enterprise.Names:
// Docker's for RHEL (docs.docker.com: Install Docker Engine on RHEL), or the CRI-O project's
// of the runtime's minor (cri-o/packaging: README). r was validated.
func (r Runtime) PackageRepositories(os string) []Repository {
	switch r.Package() {
	case containerdPackage().rpm:
		const base = "https://download.docker.com/linux/rhel/"
		return []Repository{{Name: "docker-ce", BaseURL: base + enterprise.Of(os).Major() + "/x86_64/stable/", GPGKey: base + "gpg"}}
	case crioPackage().rpm:
		v := version.MustParseSemantic(r.Version)
		base := fmt.Sprintf("https://pkgs.k8s.io/addons:/cri-o:/stable:/v%s/rpm/", line(v))
		return []Repository{{Name: "cri-o", BaseURL: base, GPGKey: base + "repodata/repomd.xml.key"}}
	default:
		return nil
	}
}
