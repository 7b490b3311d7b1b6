package upstream

import (
	"cmp"
	"embed"
	"path/filepath"

	"airgap.dev/airgap/e2e/upstream/internal/archive"
	"airgap.dev/airgap/e2e/upstream/internal/recipe"
	"airgap.dev/airgap/e2e/upstream/internal/rpms"
)

//go:embed units
var units embed.FS

const kubernetesRelease = "150500.1.1"

// olderVersions has the packages with other versions than Kubernetes.
var olderVersions = map[string]string{"kubernetes-cni": "1.8.0", "cri-tools": "1.34.0"}

// kubernetesPackages declares the packages of pkgs.k8s.io, and an older version of each
// without programs: a client that requests the best version must not get it.
func (b *builder) kubernetesPackages(c recipe.Cluster) ([]rpms.Package, error) {
	kubelet, err := b.kubelet(c)
	if err != nil {
		return nil, err
	}
	cni, err := b.kubernetesCNI()
	if err != nil {
		return nil, err
	}
	newest := []rpms.Package{kubelet, cni, b.kubectl(c), b.kubeadm(c), b.criTools()}
	packages := newest
	for _, p := range newest {
		packages = append(packages, older(p, c))
	}
	return packages, nil
}

func (b *builder) kubelet(c recipe.Cluster) (rpms.Package, error) {
	p := b.kubernetesPackage(c, "kubelet", "agent that runs pods on a node")
	p.Requires = []string{
		"conntrack", "ethtool", "iproute", "iptables >= 1.4.21",
		"kubernetes-cni >= 1.2.0", "socat", "util-linux",
	}
	for _, unit := range []struct{ path, name string }{
		{"usr/lib/systemd/system/kubelet.service", "units/kubelet.service"},
		{"usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf", "units/10-kubeadm.conf"},
	} {
		data, err := units.ReadFile(unit.name)
		if err != nil {
			return p, err
		}
		p.Files = append(p.Files, archive.File{Path: unit.path, Data: data, Mode: 0o644})
	}
	p.Files = append(p.Files, archive.File{Path: "etc/sysconfig/kubelet", Data: []byte("KUBELET_EXTRA_ARGS=\n"), Mode: 0o644})
	return p, nil
}

func (b *builder) kubectl(c recipe.Cluster) rpms.Package {
	return b.kubernetesPackage(c, "kubectl", "command line of a Kubernetes cluster")
}

func (b *builder) kubeadm(c recipe.Cluster) rpms.Package {
	p := b.kubernetesPackage(c, "kubeadm", "builds a Kubernetes cluster")
	p.Requires = []string{"kubelet >= 1.35.0", "kubectl >= 1.35.0", "kubernetes-cni >= 1.2.0", "cri-tools >= 1.30.0"}
	return p
}

func (b *builder) criTools() rpms.Package {
	return rpms.Package{
		Name: "cri-tools", Version: recipe.CRITools, Release: kubernetesRelease, Summary: "crictl, which asks a container runtime",
		Files: []archive.File{{Path: "usr/bin/crictl", Source: filepath.Join(b.cache.programs("crictl"), "crictl"), Mode: 0o755}},
	}
}

func (b *builder) kubernetesCNI() (rpms.Package, error) {
	files, err := cniPlugins(b.cache.programs("cni-plugins"))
	for i := range files {
		files[i].Path = "opt/cni/bin/" + files[i].Path
	}
	return rpms.Package{
		Name: "kubernetes-cni", Version: recipe.CNIPlugins, Release: kubernetesRelease,
		Summary: "network plug-ins of the CNI project", Files: files,
	}, err
}

func (b *builder) kubernetesPackage(c recipe.Cluster, name, summary string) rpms.Package {
	source := b.cache.path("bin", c.Program("kubernetes", name))
	return rpms.Package{
		Name: name, Version: c.Kubernetes, Release: kubernetesRelease, Summary: summary,
		Files: []archive.File{{Path: "usr/bin/" + name, Source: source, Mode: 0o755}},
	}
}

func older(p rpms.Package, c recipe.Cluster) rpms.Package {
	p.Version = cmp.Or(olderVersions[p.Name], c.Minor+".0")
	p.Summary = "stub of an older version: " + p.Summary
	p.Files = []archive.File{{Path: "usr/share/doc/" + p.Name + "/STUB", Data: []byte("no program in here\n"), Mode: 0o644}}
	return p
}
