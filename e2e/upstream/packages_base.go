package upstream

import (
	"os"
	"path/filepath"

	"airgap.dev/airgap/e2e/upstream/internal/archive"
	"airgap.dev/airgap/e2e/upstream/internal/debian"
	"airgap.dev/airgap/e2e/upstream/internal/rpms"
)

// minimalBase declares the package that represents a minimal installation in the rpmdb of a
// node. It provides package names, the file paths that packages require, and shared libraries
// with the symbol versions of this machine's libraries. It also owns the files that are on a
// node's disk and in other packages: if such a package is erased, the files stay, as on a host
// with a real minimal installation.
func minimalBase() (rpms.Package, error) {
	p := rpms.Package{
		Name: "lab-minimal-base", Version: "9.6", Release: "1.el9", Summary: "what a minimal installation provides",
		Provides: append(minimalNames(), minimalPaths()...),
	}
	var err error
	if p.Files, err = minimalFiles(); err != nil {
		return p, err
	}
	var paths []string
	for _, soname := range minimalLibraries() {
		path, err := filepath.EvalSymlinks(debian.Library(soname))
		if err != nil {
			return p, err
		}
		paths = append(paths, path)
	}
	found, err := debian.ELFDependencies(paths...)
	p.Provides = append(p.Provides, found.Provides...)
	return p, err
}

// minimalFiles returns files as data, so that ELFDependencies does not derive provides from
// them: the other packages must provide these libraries.
func minimalFiles() ([]archive.File, error) {
	paths := []string{"/usr/bin/ip", "/usr/bin/ss", "/usr/sbin/bridge", "/usr/sbin/nft", "/usr/bin/tar"}
	for _, soname := range []string{
		"libbpf.so.1", "libbsd.so.0", "libedit.so.2", "libip4tc.so.2", "libjansson.so.4", "libmd.so.0", "libmnl.so.0",
		"libnftables.so.1", "libnftnl.so.11", "libnsl.so.2", "libtirpc.so.3", "libwrap.so.0", "libxtables.so.12",
	} {
		paths = append(paths, debian.Library(soname))
	}
	var files []archive.File
	for _, path := range paths {
		taken, err := debian.Take(path)
		if err != nil {
			return nil, err
		}
		files = append(files, taken...)
	}
	for i, f := range files {
		if f.Source == "" {
			continue
		}
		data, err := os.ReadFile(f.Source)
		if err != nil {
			return nil, err
		}
		files[i].Data, files[i].Source = data, ""
	}
	return files, nil
}

func minimalNames() []string {
	return []string{
		"audit = 3.1.5", "basesystem = 11", "bash = 5.1.8", "ca-certificates = 2024.2.69", "chrony = 4.6.1",
		"config(setup) = 2.13.7", "coreutils = 8.32", "cronie = 1.5.7", "crypto-policies = 20250128", "curl = 7.76.1",
		"dbus = 1.12.20", "dbus-broker = 28", "dnf = 4.14.0", "elfutils-libelf = 0.192", "filesystem = 3.16", "findutils = 4.8.0",
		"firewalld = 1.3.4", "gawk = 5.1.0", "glibc = 2.34", "glibc(x86-64) = 2.34", "glibc-common = 2.34", "gmp = 6.2.0",
		"gnupg2 = 2.3.3", "grep = 3.6", "gzip = 1.12", "hostname = 3.23", "kernel-core = 5.14.0", "kmod = 28", "krb5-libs = 1.21.1",
		"less = 590", "libacl = 2.3.1", "libcap = 2.48", "libseccomp = 2.5.2", "libselinux = 3.6",
		"ncurses-libs = 6.2", "NetworkManager = 1.52.0", "openssh-server = 8.7p1", "openssl = 3.2.2", "openssl-libs = 3.2.2",
		"passwd = 0.80", "policycoreutils = 3.6", "procps-ng = 3.3.17", "python3 = 3.9.21", "redhat-release = 9.6", "rocky-release = 9.6",
		"rpm = 4.16.1.3", "sed = 4.8", "selinux-policy = 38.1.53", "selinux-policy-targeted = 38.1.53", "setup = 2.13.7",
		"shadow-utils = 4.9", "sudo = 1.9.5p2", "system-release = 9.6", "system-release(releasever) = 9", "systemd = 252", "systemd-libs = 252", "systemd-units = 252",
		"util-linux = 2.37.4", "util-linux-core = 2.37.4", "which = 2.21", "xz = 5.2.5", "zlib = 1.2.11",
	}
}

func minimalPaths() []string {
	return []string{
		"/bin/bash", "/bin/sh", "/bin/systemctl", "/sbin/ldconfig", "/usr/bin/bash", "/usr/bin/getent", "/usr/bin/sh",
		"/usr/bin/systemctl", "/usr/sbin/groupadd", "/usr/sbin/ldconfig", "/usr/sbin/useradd",
	}
}

func minimalLibraries() []string {
	return []string{
		"ld-linux-x86-64.so.2", "libacl.so.1", "libc.so.6", "libcap.so.2", "libcrypto.so.3", "libdl.so.2", "libelf.so.1",
		"libgmp.so.10", "libgssapi_krb5.so.2", "libm.so.6", "libpthread.so.0", "libresolv.so.2", "librt.so.1", "libselinux.so.1",
		"libssl.so.3", "libtinfo.so.6", "libz.so.1",
	}
}
