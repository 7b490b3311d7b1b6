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

// nvidia has what stands for a driver: no card is here that the real one would find.
//
//go:embed nvidia
var nvidia embed.FS

// BuildGPU adds what hosts with NVIDIA's cards take, to a cache that Build has brought up
// to date: the device plugin and the container toolkit, which are the real ones, and
// drivers that are not, in repositories named as theirs.
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

// Drivers is the directory of NVIDIA's packages, once BuildGPU has made them.
func Drivers(cache string) string { return filepath.Join(places(cache).files(), cudaRepo) }

// Compilers is the directory of what DKMS compiles with, likewise.
func Compilers(cache string) string {
	return filepath.Join(places(cache).files(), appStreamRepo, "Packages")
}

func (b *builder) devicePlugin() (oci.Image, error) {
	shell, err := shell()
	if err != nil {
		return oci.Image{}, err
	}
	// Of the C library all that NVIDIA's own management library asks for, so that the image
	// is one for real cards, too.
	mount, err := debian.Closure("/usr/bin/mount", debian.Library("libm.so.6"), debian.Library("libdl.so.2"), debian.Library("libpthread.so.0"), debian.Library("librt.so.1"))
	if err != nil {
		return oci.Image{}, err
	}
	start, err := standIn("usr/bin/nvidia-device-plugin", "device-plugin", 0o755)
	// It is linked with the C library, which comes with the shell.
	return b.image("nvcr.io/nvidia/k8s-device-plugin:v"+recipe.DevicePlugin, "device-plugin/nvidia-device-plugin",
		"usr/libexec/nvidia-device-plugin", oci.Layer{Files: shell}, oci.Layer{Files: append(mount, start)}), err
}

// driverFile is a file that the build of a driver made.
func (p places) driverFile(version, name string) string {
	return p.path("bin", "nvidia-driver", version, name)
}

// driverLibraries compiles what a driver of that version brings into programs, when its
// sources changed: the stub of the unit tests for the management library, and an empty one
// for CUDA's.
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

// nvmlHeader is the directory of NVIDIA's header, which go-nvml has.
func (b *builder) nvmlHeader(ctx context.Context) (string, error) {
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/NVIDIA/go-nvml")
	list.Dir = filepath.Join(b.root, "..")
	dir, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("find NVIDIA's header: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(dir)), "pkg", "nvml"), nil
}

// library compiles a shared library that is called by its soname.
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

// standIn is a file of package nvidia, at its place on a host.
func standIn(path, name string, mode int64) (archive.File, error) {
	data, err := nvidia.ReadFile("nvidia/" + name)
	return archive.File{Path: path, Data: data, Mode: mode}, err
}

// script is what a package of NVIDIA's runs when it is installed.
func script(name string) (string, error) {
	data, err := nvidia.ReadFile("nvidia/" + name)
	return string(data), err
}

// driverLibrary is a library with the links by which it is found.
func (p places) driverLibrary(version, soname string) []archive.File {
	name := strings.TrimSuffix(soname, "1") + version
	return []archive.File{
		{Path: "usr/lib64/" + name, Source: p.driverFile(version, soname), Mode: 0o755},
		{Path: "usr/lib64/" + soname, Link: name},
	}
}
