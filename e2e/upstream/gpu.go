package upstream

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"airgap.dev/airgap/e2e/upstream/internal/archive"
	"airgap.dev/airgap/e2e/upstream/internal/debian"
	"airgap.dev/airgap/e2e/upstream/internal/oci"
	"airgap.dev/airgap/e2e/upstream/internal/recipe"
	"airgap.dev/airgap/e2e/upstream/internal/stage"
)

// nvidia has stubs of a driver, since this machine has no GPU for a real driver.
//
//go:embed nvidia
var nvidia embed.FS

// BuildGPU adds the packages and images for hosts with NVIDIA GPUs to a cache that Build has
// updated. The device plugin and the container toolkit are the real ones. The drivers are
// stubs. The repositories have the names of NVIDIA's.
func BuildGPU(ctx context.Context, cache string, progress io.Writer) error {
	b, unlock, err := open(ctx, cache, progress)
	if err != nil {
		return err
	}
	defer unlock()
	if err := b.programs(ctx, recipe.GPU()); err != nil {
		return err
	}
	for _, version := range driverVersions() {
		if err := b.driverLibraries(ctx, version); err != nil {
			return err
		}
	}
	if err := b.gpuRepositories(ctx); err != nil {
		return err
	}
	if err := b.runfile(); err != nil {
		return err
	}
	plugin, err := b.devicePlugin()
	if err != nil {
		return err
	}
	return b.putImages(ctx, b.cache.images(), []oci.Image{plugin})
}

// Drivers returns the directory of NVIDIA's packages, which BuildGPU makes.
func Drivers(cache string) string { return filepath.Join(places(cache).files(), cudaRepo) }

// BuildTools returns the directory of the packages that DKMS needs to compile modules, which
// BuildGPU makes.
func BuildTools(cache string) string {
	return filepath.Join(places(cache).files(), appStreamRepo, "Packages")
}

func (b *builder) devicePlugin() (oci.Image, error) {
	shell, err := shell()
	if err != nil {
		return oci.Image{}, err
	}
	// All parts of the C library that NVIDIA's own management library needs, so that the image
	// also works with real GPUs.
	mount, err := debian.Closure("/usr/bin/mount", debian.Library("libm.so.6"), debian.Library("libdl.so.2"), debian.Library("libpthread.so.0"), debian.Library("librt.so.1"))
	if err != nil {
		return oci.Image{}, err
	}
	start, err := stubFile("usr/bin/nvidia-device-plugin", "device-plugin", 0o755)
	// The plugin is linked with the C library, which the layer of the shell has.
	return b.image("nvcr.io/nvidia/k8s-device-plugin:v"+recipe.DevicePlugin, "device-plugin/nvidia-device-plugin",
		"usr/libexec/nvidia-device-plugin", oci.Layer{Files: shell}, oci.Layer{Files: append(mount, start)}), err
}

// driverFile returns the path of a file that the build of a driver made.
func (p places) driverFile(version, name string) string {
	return p.path("bin", "nvidia-driver", version, name)
}

// driverLibraries compiles the libraries of a driver of that version if their sources changed:
// the stub of the unit tests as the management library, and an empty library for CUDA.
func (b *builder) driverLibraries(ctx context.Context, version string) error {
	cuda, err := nvidia.ReadFile("nvidia/cuda.c")
	if err != nil {
		return err
	}
	stub, err := os.ReadFile(b.stubSource())
	if err != nil {
		return err
	}
	mig, err := nvidia.ReadFile("nvidia/mig.c")
	if err != nil {
		return err
	}
	stub = slices.Concat(stub, mig)
	key, err := stage.Key(format, version, stub, cuda)
	if err != nil {
		return err
	}
	_, err = b.log.Do("nvidia driver "+version, key, func() error {
		header, err := b.nvmlHeader(ctx)
		if err != nil {
			return err
		}
		dir := b.cache.driverFile(version, "")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := library(ctx, dir, "libcuda.so.1", cuda); err != nil {
			return err
		}
		return library(ctx, dir, "libnvidia-ml.so.1", stub, "-I", header,
			"-DNVML_NO_UNVERSIONED_FUNC_DEFS", `-DINSTALLED="`+version+`"`)
	})
	return err
}

func (b *builder) stubSource() string {
	return filepath.Join(b.root, "..", "gpu", "nvml", "testdata", "stub", "nvml.c")
}

// nvmlHeader returns the directory of NVIDIA's header, which is part of go-nvml.
func (b *builder) nvmlHeader(ctx context.Context) (string, error) {
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/NVIDIA/go-nvml")
	list.Dir = filepath.Join(b.root, "..")
	dir, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("find NVIDIA's header: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(dir)), "pkg", "nvml"), nil
}

// library compiles a shared library. The file has its soname as name.
func library(ctx context.Context, dir, soname string, source []byte, flags ...string) error {
	args := append(flags, "-shared", "-fPIC", "-O2", "-s", "-Wl,-soname,"+soname, "-Wno-deprecated-declarations",
		"-o", filepath.Join(dir, soname), "-x", "c", "-")
	cmd := exec.CommandContext(ctx, "gcc", args...)
	cmd.Stdin = bytes.NewReader(source)
	if log, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("run gcc for %s: %w\n%s", soname, err, log)
	}
	return nil
}

// stubFile returns a file of the directory nvidia, with its path on a host.
func stubFile(path, name string, mode int64) (archive.File, error) {
	data, err := nvidia.ReadFile("nvidia/" + name)
	return archive.File{Path: path, Data: data, Mode: mode}, err
}

// script returns a post-installation script of a package of NVIDIA's.
func script(name string) (string, error) {
	data, err := nvidia.ReadFile("nvidia/" + name)
	return string(data), err
}

// driverLibrary returns a library with the link that has its soname.
func (p places) driverLibrary(version, soname string) []archive.File {
	name := strings.TrimSuffix(soname, "1") + version
	return []archive.File{
		{Path: "usr/lib64/" + name, Source: p.driverFile(version, soname), Mode: 0o755},
		{Path: "usr/lib64/" + soname, Link: name},
	}
}
