package upstream

import (
	"context"
	"embed"
	"io"
	"os"
	"path/filepath"

	"airgap.dev/airgap/e2e/upstream/internal/archive"
	"airgap.dev/airgap/e2e/upstream/internal/recipe"
	"airgap.dev/airgap/e2e/upstream/internal/rpms"
)

// runtimes has the files other than programs in packages of runtimes, as in their projects'
// packages (docker/containerd-packaging, cri-o/packaging), and stubs of Docker and podman.
//
//go:embed runtimes
var runtimes embed.FS

const (
	dockerRepo = "download.docker.com/linux/rhel/9/x86_64/stable"
	dockerKey  = "download.docker.com/linux/rhel/gpg"
	crioRepo   = "pkgs.k8s.io/addons:/cri-o:/stable:/v1.36/rpm"
	podmanRepo = "dl.rockylinux.org/pub/rocky/9/extras/x86_64/os"
)

// BuildRuntimes adds the packages of container runtimes, and of podman, to a cache that Build
// has updated. The programs are the real ones, except for Docker and podman. Each runtime also
// has an older and a newer version without programs.
func BuildRuntimes(ctx context.Context, cache string, progress io.Writer) error {
	b, unlock, err := open(ctx, cache, progress)
	if err != nil {
		return err
	}
	defer unlock()
	here := func(rpms.Writable) string { return "." }
	for _, r := range []struct {
		path, key, owner string
		packages         func() ([]rpms.Package, error)
	}{
		{dockerRepo, dockerKey, "Docker", b.dockerPackages},
		{crioRepo, crioRepo + "/repodata/repomd.xml.key", "CRI-O project", b.crioPackages},
		{podmanRepo, elRepoKey, "EL vendor", b.podmanPackages},
	} {
		packages, err := r.packages()
		if err != nil {
			return err
		}
		if err := b.repository(ctx, r.path, r.key, r.owner, packages, here); err != nil {
			return err
		}
	}
	return nil
}

// DockerPackages returns the directory of Docker's repository, which BuildRuntimes makes.
func DockerPackages(cache string) string { return filepath.Join(places(cache).files(), dockerRepo) }

// CRIOPackages returns the directory of the CRI-O project's repository, which BuildRuntimes makes.
func CRIOPackages(cache string) string { return filepath.Join(places(cache).files(), crioRepo) }

// KubernetesPackages returns the directory of the packages of the current minor, which also has
// older ones.
func KubernetesPackages(cache string) string {
	return filepath.Join(places(cache).files(), "pkgs.k8s.io/core:/stable:/v"+recipe.Current().Minor+"/rpm")
}

// PodmanPackages returns the directory of podman, runc and crun, which BuildRuntimes makes.
func PodmanPackages(cache string) string { return filepath.Join(places(cache).files(), podmanRepo) }

// dockerPackages declares containerd.io, which replaces the vendor's containerd and runc, and
// Docker.
func (b *builder) dockerPackages() ([]rpms.Package, error) {
	containerd := rpms.Package{
		Name: "containerd.io", Version: recipe.Containerd, Release: "1.el9", Summary: "containerd, and the runc that it was tested with",
		Provides: []string{"containerd", "runc"}, Conflicts: []string{"containerd", "runc"}, Obsoletes: []string{"containerd", "runc"},
		Requires: []string{"container-selinux", "libseccomp"}, // the real one also requires an epoch, which the lab's package does not have
	}
	programs, err := below("usr/bin/", b.cache.programs("containerd"))
	if err != nil {
		return nil, err
	}
	unit, err := runtimeFile("usr/lib/systemd/system/containerd.service", "containerd.service", 0o644)
	if err != nil {
		return nil, err
	}
	config, err := runtimeFile("etc/containerd/config.toml", "containerd.toml", 0o644)
	if err != nil {
		return nil, err
	}
	containerd.Files = append(programs, b.program("usr/bin/runc", "runc"), unit, config)
	docker := rpms.Package{Name: "docker-ce", Version: "29.0.0", Release: "1.el9", Summary: "stub: Docker", Requires: []string{"containerd.io"}}
	unit, err = runtimeFile("usr/lib/systemd/system/docker.service", "docker.service", 0o644)
	docker.Files = []archive.File{unit}
	return append(otherVersions(containerd, "2.3.6", "2.3.8"), docker), err
}

// crioPackages declares CRI-O with runc also in place of crun, which the lab does not have.
func (b *builder) crioPackages() ([]rpms.Package, error) {
	p := rpms.Package{
		Name: "cri-o", Version: recipe.CRIO, Release: "1.1", Summary: "CRI-O with its helpers", Requires: []string{"iptables"},
		Files: []archive.File{
			b.program("usr/bin/crio", "crio"),
			b.program("usr/bin/pinns", "crio/pinns"),
			b.program("usr/libexec/crio/runc", "runc"),
			b.program("usr/libexec/crio/crun", "runc"),
		},
	}
	// The project's conmon is static. Debian's needs libraries that each node has, and that no
	// package provides: as data, its ELF dependencies are not read.
	conmon, err := os.ReadFile("/usr/bin/conmon")
	if err != nil {
		return nil, err
	}
	p.Files = append(p.Files, archive.File{Path: "usr/libexec/crio/conmon", Data: conmon, Mode: 0o755})
	for _, file := range []struct{ path, name string }{
		{"etc/containers/registries.conf.d/crio.conf", "registries.conf"},
		{"etc/crio/crio.conf.d/10-crio.conf", "10-crio.conf"},
		{"etc/crio/policy.json", "policy.json"},
		{"usr/lib/systemd/system/crio.service", "crio.service"},
	} {
		f, err := runtimeFile(file.path, file.name, 0o644)
		if err != nil {
			return nil, err
		}
		p.Files = append(p.Files, f)
	}
	return otherVersions(p, "1.36.2", "1.36.4"), nil
}

// podmanPackages declares podman and the two runtimes that it can use.
func (b *builder) podmanPackages() ([]rpms.Package, error) {
	script, err := runtimeFile("usr/bin/podman", "podman", 0o755)
	podman := rpms.Package{
		Name: "podman", Version: "5.4.0", Release: "1.el9", Epoch: "6", Summary: "stub: podman", Requires: []string{"oci-runtime"},
		Files: []archive.File{
			script,
			b.program("usr/libexec/podman/catatonit", "programs/pause"),
			{Path: "etc/containers/registries.conf", Data: []byte("unqualified-search-registries = [\"registry.bank.example\"]\n"), Mode: 0o644},
			{Path: "etc/containers/storage.conf", Data: []byte("[storage]\ndriver = \"overlay\"\n"), Mode: 0o644},
			{Path: "etc/containers/policy.json", Data: []byte(`{"default": [{"type": "reject"}]}` + "\n"), Mode: 0o644},
		},
	}
	packages := []rpms.Package{podman}
	for _, runtime := range []struct{ name, version string }{{"runc", "1.2.5"}, {"crun", "1.20"}} {
		packages = append(packages, rpms.Package{
			Name: runtime.name, Version: runtime.version, Release: "1.el9", Summary: "runs containers", Provides: []string{"oci-runtime"},
			Files: []archive.File{b.program("usr/bin/"+runtime.name, "runc")},
		})
	}
	return packages, err
}

// program returns the program RECIPE/NAME with its path on a host. RECIPE alone means
// RECIPE/RECIPE.
func (b *builder) program(path, recipe string) archive.File {
	if filepath.Dir(recipe) == "." {
		recipe += "/" + recipe
	}
	return archive.File{Path: path, Source: b.cache.path("bin", recipe), Mode: 0o755}
}

// otherVersions returns the package, and other versions of it without programs.
func otherVersions(p rpms.Package, versions ...string) []rpms.Package {
	all := []rpms.Package{p}
	for _, version := range versions {
		other := p
		other.Version, other.Summary = version, "stub of another version: "+p.Summary
		other.Files = []archive.File{{Path: "usr/share/doc/" + p.Name + "/STUB", Data: []byte("no program in here\n"), Mode: 0o644}}
		all = append(all, other)
	}
	return all
}

// runtimeFile returns a file of the directory runtimes, with its path on a host.
func runtimeFile(path, name string, mode int64) (archive.File, error) {
	data, err := runtimes.ReadFile("runtimes/" + name)
	return archive.File{Path: path, Data: data, Mode: mode}, err
}
