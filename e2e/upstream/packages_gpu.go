package upstream

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"airgap.dev/airgap/e2e/upstream/internal/archive"
	"airgap.dev/airgap/e2e/upstream/internal/recipe"
	"airgap.dev/airgap/e2e/upstream/internal/rpms"
)

const (
	cudaRepo      = "developer.download.nvidia.com/compute/cuda/repos/rhel9/x86_64"
	appStreamRepo = "dl.rockylinux.org/pub/rocky/9/AppStream/x86_64/os"
	epelRepo      = "dl.fedoraproject.org/pub/epel/9/Everything/x86_64"
	epelKey       = "dl.fedoraproject.org/pub/epel/RPM-GPG-KEY-EPEL-9"
)

// driverVersions returns a version of a branch that NVIDIA no longer supports, one of the
// long-term support branch, and one of a newer branch.
func driverVersions() []string { return []string{"575.57.08", "580.82.07", "595.45.04"} }

// gpuRepositories makes NVIDIA's repository, and two with DKMS and the tools that it needs to
// compile modules.
func (b *builder) gpuRepositories(ctx context.Context) error {
	toolkit, err := b.containerToolkit()
	if err != nil {
		return err
	}
	packages := []rpms.Package{toolkit}
	for _, version := range driverVersions() {
		driver, err := b.driver(version)
		if err != nil {
			return err
		}
		packages = append(packages, driver...)
	}
	here := func(rpms.Writable) string { return "." }
	if err := b.repository(ctx, cudaRepo, cudaRepo+"/D42D0685.pub", "NVIDIA", packages, here); err != nil {
		return err
	}
	tools, err := buildTools()
	if err != nil {
		return err
	}
	if err := b.repository(ctx, appStreamRepo, elRepoKey, "EL vendor", tools, byFirstLetter); err != nil {
		return err
	}
	return b.repository(ctx, epelRepo, epelKey, "EPEL", []rpms.Package{dkms()}, byFirstLetter)
}

// driver declares the packages of one version. They require each other in that version.
func (b *builder) driver(version string) ([]rpms.Package, error) {
	d := driver{b.cache, version}
	var packages []rpms.Package
	for _, declare := range []func() (rpms.Package, error){
		d.cuda, d.cudaLibraries, d.management, d.kmodCommon, d.persistence, d.fabric,
		func() (rpms.Package, error) {
			return d.kmod("kmod-nvidia-open-dkms", "kmod-nvidia-latest-dkms", "open")
		},
		func() (rpms.Package, error) {
			return d.kmod("kmod-nvidia-latest-dkms", "kmod-nvidia-open-dkms", "proprietary")
		},
	} {
		p, err := declare()
		if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
	return packages, nil
}

// driver declares the packages of one version.
type driver struct {
	cache   places
	version string
}

func (d driver) declare(name, summary string, requires ...string) rpms.Package {
	p := rpms.Package{Name: name, Version: d.version, Release: "1.el9", Epoch: "3", Summary: "stub: " + summary}
	for _, r := range requires {
		p.Requires = append(p.Requires, r+" = 3:"+d.version)
	}
	return p
}

func (d driver) cuda() (rpms.Package, error) {
	p := d.declare("nvidia-driver-cuda", "NVIDIA's driver, without graphics",
		"nvidia-driver-cuda-libs", "nvidia-kmod-common", "nvidia-persistenced")
	smi, err := stubFile("usr/bin/nvidia-smi", "nvidia-smi", 0o755)
	p.Files = []archive.File{smi}
	return p, err
}

func (d driver) cudaLibraries() (rpms.Package, error) {
	p := d.declare("nvidia-driver-cuda-libs", "libraries of CUDA", "libnvidia-ml")
	p.Files = d.cache.driverLibrary(d.version, "libcuda.so.1")
	var err error
	p.Post, err = script("ldconfig")
	return p, err
}

func (d driver) management() (rpms.Package, error) {
	p := d.declare("libnvidia-ml", "management library")
	p.Files = d.cache.driverLibrary(d.version, "libnvidia-ml.so.1")
	var err error
	p.Post, err = script("ldconfig")
	return p, err
}

func (d driver) kmodCommon() (rpms.Package, error) {
	p := d.declare("nvidia-kmod-common", "settings of the kernel module", "nvidia-kmod")
	conf, err := stubFile("usr/lib/modprobe.d/nvidia.conf", "kmod-common.conf", 0o644)
	if err != nil {
		return p, err
	}
	boot, err := stubFile("usr/lib/modules-load.d/nvidia-lab.conf", "modules-load.conf", 0o644)
	p.Files = []archive.File{conf, boot}
	return p, err
}

// kmod declares the package of a kernel module: modprobe calls scripts in place of the module.
func (d driver) kmod(name, other, flavour string) (rpms.Package, error) {
	p := d.declare(name, "kernel module, "+flavour, "nvidia-kmod-common")
	p.Requires = append(p.Requires, "dkms")
	p.Provides = []string{"nvidia-kmod = 3:" + d.version}
	p.Conflicts = []string{other}
	var err error
	p.Files, err = d.module(flavour)
	return p, err
}

// module returns the modprobe configuration of the module and the scripts that it calls.
func (d driver) module(flavour string) ([]archive.File, error) {
	load, err := stubFile("usr/libexec/nvidia-lab/load", "load", 0o755)
	if err != nil {
		return nil, err
	}
	unload, err := stubFile("usr/libexec/nvidia-lab/unload", "unload", 0o755)
	return []archive.File{load, unload, {
		Path: "usr/lib/modprobe.d/nvidia-lab.conf", Mode: 0o644,
		Data: fmt.Appendf(nil, "install nvidia /usr/libexec/nvidia-lab/load %s %s\ninstall nvidia-uvm modprobe nvidia\nremove nvidia /usr/libexec/nvidia-lab/unload\n", flavour, d.version),
	}}, err
}

func (d driver) persistence() (rpms.Package, error) {
	p := d.declare("nvidia-persistenced", "daemon that keeps the driver initialized")
	var err error
	p.Files, err = d.daemon("nvidia-persistenced", "nvidia-persistenced.service")
	return p, err
}

func (d driver) fabric() (rpms.Package, error) {
	p := d.declare("nvidia-fabricmanager", "daemon that connects GPUs through NVSwitches")
	p.Epoch = "" // as in NVIDIA's package
	var err error
	p.Files, err = d.daemon("nv-fabricmanager", "nvidia-fabricmanager.service")
	return p, err
}

func (d driver) daemon(program, unit string) ([]archive.File, error) {
	run, err := stubFile("usr/bin/"+program, "daemon", 0o755)
	if err != nil {
		return nil, err
	}
	service, err := stubFile("usr/lib/systemd/system/"+unit, unit, 0o644)
	service.Data = bytes.ReplaceAll(service.Data, []byte("VERSION"), []byte(d.version))
	return []archive.File{run, service}, err
}

// containerToolkit declares the package of the toolkit that does not need libnvidia-container.
func (b *builder) containerToolkit() (rpms.Package, error) {
	p := rpms.Package{
		Name: "nvidia-container-toolkit-base", Version: recipe.ContainerToolkit, Release: "1",
		Summary: "NVIDIA's container toolkit", Provides: []string{"nvidia-container-runtime"},
	}
	var err error
	if p.Post, err = script("toolkit-post"); err != nil {
		return p, err
	}
	if p.Files, err = below("usr/bin/", b.cache.programs("container-toolkit")); err != nil {
		return p, err
	}
	for _, unit := range []string{"nvidia-cdi-refresh.service", "nvidia-cdi-refresh.path"} {
		f, err := stubFile("usr/lib/systemd/system/"+unit, unit, 0o644)
		if err != nil {
			return p, err
		}
		p.Files = append(p.Files, f)
	}
	return p, nil
}

// buildTools declares empty packages, since the stub drivers compile no module. kernel-devel
// is for the kernel of this machine, which containers use.
func buildTools() ([]rpms.Package, error) {
	var kernel unix.Utsname
	if err := unix.Uname(&kernel); err != nil {
		return nil, fmt.Errorf("uname: %w", err)
	}
	release := unix.ByteSliceToString(kernel.Release[:])
	return []rpms.Package{
		{
			Name: "kernel-devel", Version: "5.14.0", Release: "570.lab.el9", Summary: "stub: headers to compile modules",
			// The last one is the NAME-VERSION by which EL's package is requested: the release
			// of this kernel has dashes, which the release of a package cannot have.
			Provides: []string{"installonlypkg(kernel)", "kernel-devel-uname-r = " + release, "kernel-devel-" + release},
			Files:    []archive.File{{Path: filepath.Join("usr/src/kernels", release, "Makefile"), Data: []byte("# stub\n"), Mode: 0o644}},
		},
		stubPackage("kernel-headers", "5.14.0"),
		stubPackage("gcc", "11.5.0"),
		stubPackage("make", "4.3"),
		stubPackage("elfutils-libelf-devel", "0.192"),
		// The kernel of this machine may be built with another compiler than EL's.
		stubPackage("gcc-toolset-13-gcc", "13.3.1"),
		stubPackage("gcc-toolset-14-gcc", "14.2.1"),
		stubPackage("gcc-toolset-15-gcc", "15.1.1"),
	}, nil
}

func dkms() rpms.Package {
	p := stubPackage("dkms", "3.2.1")
	p.NoArch, p.Requires = true, []string{"gcc", "make", "kmod", "elfutils-libelf-devel"}
	return p
}

func stubPackage(name, version string) rpms.Package {
	return rpms.Package{
		Name: name, Version: version, Release: "1.el9", Summary: "stub: nothing in here",
		Files: []archive.File{{Path: "usr/share/doc/" + name + "/STUB", Data: []byte("nothing in here\n"), Mode: 0o644}},
	}
}
