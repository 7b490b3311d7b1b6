package upstream

import (
	"fmt"
	"path/filepath"
	"slices"

	"airgap.dev/airgap/e2e/upstream/internal/archive"
	"airgap.dev/airgap/e2e/upstream/internal/debian"
	"airgap.dev/airgap/e2e/upstream/internal/oci"
	"airgap.dev/airgap/e2e/upstream/internal/recipe"
)

// images declares the images of the registries. Programs have the same paths as in the
// projects' own images, because manifests refer to those paths.
func (b *builder) images() ([]oci.Image, error) {
	userland, err := userland()
	if err != nil {
		return nil, err
	}
	shell, err := shell()
	if err != nil {
		return nil, err
	}
	current := recipe.Current()
	images := b.controlPlane(current)
	return append(images,
		b.kubernetes(current, "kube-proxy", userland),
		b.image("ghcr.io/flannel-io/flannel:v"+recipe.Flannel, "flannel/flanneld", "opt/bin/flanneld", userland),
		b.image("ghcr.io/flannel-io/flannel-cni-plugin:v1.9.1-flannel1", "cni-plugins/flannel", "flannel", oci.Layer{Files: shell}),
		b.image("quay.io/lab/tools:1.0", "programs/tools", "usr/bin/tools", oci.Layer{Files: shell}),
		b.hello(),
	), nil
}

// userland has the programs that kube-proxy and flanneld call, and a shell.
func userland() (oci.Layer, error) {
	net, err := packetFilter()
	if err != nil {
		return oci.Layer{}, err
	}
	shell, err := shell()
	return oci.Layer{Files: slices.Concat(net, shell)}, err
}

func shell() ([]archive.File, error) {
	files, err := debian.Closure("/usr/bin/dash", "/usr/bin/cp")
	return append(files, archive.File{Path: "bin/sh", Link: "/usr/bin/dash"}, archive.File{Path: "bin/cp", Link: "/usr/bin/cp"}), err
}

func (b *builder) controlPlane(c recipe.Cluster) []oci.Image {
	return []oci.Image{
		b.kubernetes(c, "kube-apiserver"),
		b.kubernetes(c, "kube-controller-manager"),
		b.kubernetes(c, "kube-scheduler"),
		b.image("registry.k8s.io/etcd:"+c.Etcd+"-0", c.Program("etcd", "etcd"), "usr/local/bin/etcd"),
		b.image("registry.k8s.io/coredns/coredns:v"+c.CoreDNS, c.Program("coredns", "coredns"), "coredns"),
		b.image("registry.k8s.io/pause:"+c.Pause, "programs/pause", "pause"),
	}
}

func (b *builder) kubernetes(c recipe.Cluster, name string, below ...oci.Layer) oci.Image {
	ref := fmt.Sprintf("registry.k8s.io/%s:v%s", name, c.Kubernetes)
	return b.image(ref, c.Program("kubernetes", name), "usr/local/bin/"+name, below...)
}

func (b *builder) hello() oci.Image {
	i := b.image("docker.io/library/hello:1.0", "programs/hello", "hello")
	i.Single = true
	return i
}

// image declares an image with one program, RECIPE/NAME, on top of the base and the layers below.
func (b *builder) image(ref, program, path string, below ...oci.Layer) oci.Image {
	source := filepath.Join(b.cache.path("bin"), program)
	layers := append([]oci.Layer{base()}, below...)
	layers = append(layers, oci.Layer{Files: []archive.File{{Path: path, Source: source}}})
	return oci.Image{Ref: ref, Entrypoint: []string{"/" + path}, Layers: layers}
}

// base has the files of a distroless image. All images share it.
func base() oci.Layer {
	return oci.Layer{Files: []archive.File{
		{Path: "etc/passwd", Mode: 0o644, Data: []byte("root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n")},
		{Path: "etc/group", Mode: 0o644, Data: []byte("root:x:0:\nnonroot:x:65532:\n")},
		{Path: "etc/nsswitch.conf", Mode: 0o644, Data: []byte("hosts: files dns\n")},
		{Path: "tmp/", Mode: 0o1777},
		{Path: "root/", Mode: 0o700},
	}}
}

// packetFilter lists the programs that kube-proxy and flanneld call.
func packetFilter() ([]archive.File, error) {
	plugins, err := debian.Plugins("xtables")
	if err != nil {
		return nil, err
	}
	paths := []string{"/usr/sbin/nft", "/usr/sbin/conntrack", "/usr/sbin/xtables-nft-multi", "/usr/bin/ip"}
	files, err := debian.Closure(append(paths, plugins...)...)
	return append(files, iptablesLinks()...), err
}

// iptablesLinks lists the links to xtables-nft-multi, which selects its function by name.
func iptablesLinks() []archive.File {
	var links []archive.File
	for _, family := range []string{"iptables", "ip6tables"} {
		for _, suffix := range []string{"", "-save", "-restore", "-nft", "-nft-save", "-nft-restore"} {
			links = append(links, archive.File{Path: "usr/sbin/" + family + suffix, Link: "xtables-nft-multi"})
		}
	}
	return links
}
