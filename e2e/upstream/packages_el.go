package upstream

import (
	"slices"
	"strings"

	"airgap.dev/airgap/e2e/upstream/internal/archive"
	"airgap.dev/airgap/e2e/upstream/internal/debian"
	"airgap.dev/airgap/e2e/upstream/internal/rpms"
)

// elPackage is a package of the Linux vendor, made of files of Debian's packages on this
// machine. Its name and version follow the vendor's conventions.
type elPackage struct {
	name, version, summary string
	noArch                 bool
	paths                  []string // programs, or libraries by the link with their soname
	links                  []archive.File
	provides, requires     []string
}

func (p elPackage) declare() (rpms.Package, error) {
	out := rpms.Package{
		Name: p.name, Version: p.version, Release: "1.el9", Summary: p.summary, NoArch: p.noArch,
		Provides: p.provides, Requires: p.requires, Files: p.links,
	}
	for _, path := range p.paths {
		files, err := debian.Take(path)
		if err != nil {
			return out, err
		}
		out.Files = append(out.Files, files...)
	}
	// Two links to one library both add their target.
	slices.SortFunc(out.Files, func(a, b archive.File) int { return strings.Compare(a.Path, b.Path) })
	out.Files = slices.CompactFunc(out.Files, func(a, b archive.File) bool { return a.Path == b.Path })
	return out, nil
}

func elPackages() ([]rpms.Package, error) {
	libraries, err := elLibraries()
	if err != nil {
		return nil, err
	}
	var packages []rpms.Package
	for _, p := range append(elPrograms(), libraries...) {
		declared, err := p.declare()
		if err != nil {
			return nil, err
		}
		packages = append(packages, declared)
	}
	return packages, nil
}

func elPrograms() []elPackage {
	return []elPackage{
		{
			name: "conntrack-tools", version: "1.4.7", summary: "shows and changes the connection tracking table",
			paths:    []string{"/usr/sbin/conntrack", "/usr/sbin/nfct"},
			provides: []string{"conntrack = 1.4.7-1.el9"},
			// The daemon of the real package, which is left out here, needs these.
			requires: []string{"libnetfilter_queue.so.1()(64bit)", "libnetfilter_cthelper.so.0()(64bit)"},
		},
		{name: "socat", version: "1.7.4.4", summary: "relays between two byte streams", paths: []string{"/usr/bin/socat", debian.Library("libwrap.so.0")}},
		{name: "ethtool", version: "6.1", summary: "shows and changes settings of network cards", paths: []string{"/usr/sbin/ethtool"}},
		{name: "iproute", version: "6.1.0", summary: "addresses, routes, links", paths: []string{"/usr/bin/ip", "/usr/bin/ss", "/usr/sbin/bridge"}},
		iptablesNft(),
		{name: "nftables", version: "1.0.6", summary: "packet filter's command line", paths: []string{"/usr/sbin/nft", debian.Library("libnftables.so.1")}},
		{name: "tar", version: "1.34", summary: "packs and unpacks archives", paths: []string{"/usr/bin/tar"}},
		{name: "container-selinux", version: "2.235.0", summary: "SELinux policy of container runtimes, empty here", noArch: true},
	}
}

func iptablesNft() elPackage {
	return elPackage{
		name: "iptables-nft", version: "1.8.9", summary: "iptables over nf_tables",
		paths: []string{"/usr/sbin/xtables-nft-multi"}, links: iptablesLinks(),
		provides: []string{"iptables = 1.8.9-1.el9"},
		requires: []string{"iptables-libs = 1.8.9-1.el9"},
	}
}

func elLibraries() ([]elPackage, error) {
	library := func(name, version string, sonames ...string) elPackage {
		p := elPackage{name: name, version: version, summary: "shared library " + sonames[0]}
		for _, s := range sonames {
			p.paths = append(p.paths, debian.Library(s))
		}
		return p
	}
	iptables := library("iptables-libs", "1.8.9", "libxtables.so.12", "libip4tc.so.2", "libip6tc.so.2")
	plugins, err := debian.Plugins("xtables")
	if err != nil {
		return nil, err
	}
	iptables.paths = append(iptables.paths, plugins...)
	return []elPackage{
		iptables,
		library("libnetfilter_conntrack", "1.0.9", "libnetfilter_conntrack.so.3"),
		library("libnetfilter_cthelper", "1.0.1", "libnetfilter_cthelper.so.0"),
		library("libnetfilter_cttimeout", "1.0.1", "libnetfilter_cttimeout.so.1"),
		library("libnetfilter_queue", "1.0.5", "libnetfilter_queue.so.1"),
		library("libnfnetlink", "1.0.2", "libnfnetlink.so.0"),
		library("libmnl", "1.0.4", "libmnl.so.0"),
		library("libnftnl", "1.2.4", "libnftnl.so.11"),
		library("libtirpc", "1.3.3", "libtirpc.so.3"),
		library("libnsl2", "2.0.0", "libnsl.so.2"),
		library("libbpf", "1.1.2", "libbpf.so.1"),
		library("jansson", "2.14", "libjansson.so.4"),
		library("libedit", "3.1", "libedit.so.2"),
		library("libbsd", "0.11.7", "libbsd.so.0", "libmd.so.0"),
	}, nil
}
