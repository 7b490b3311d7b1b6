package upstream

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"airgap.dev/airgap/e2e/upstream/internal/archive"
	"airgap.dev/airgap/e2e/upstream/internal/stage"
)

// Runfile returns the path of the driver of the long-term support branch as one .run file,
// for hosts that do not use packages. Its checksum is next to it, as NVIDIA publishes it.
func Runfile(cache string) string { return filepath.Join(places(cache).files(), runfile) }

const (
	runfileVersion = "580.82.07"
	runfile        = "us.download.nvidia.com/tesla/" + runfileVersion + "/NVIDIA-Linux-x86_64-" + runfileVersion + ".run"
)

// RunfileSum returns the SHA-256 of Runfile, in hexadecimal digits.
func RunfileSum(cache string) (string, error) {
	text, err := os.ReadFile(Runfile(cache) + ".sha256sum")
	sum, _, _ := strings.Cut(string(text), " ")
	return sum, err
}

// runfile writes the installer script, followed by an archive of the driver's files.
func (b *builder) runfile() error {
	files, err := driver{b.cache, runfileVersion}.runfileFiles()
	if err != nil {
		return err
	}
	installer, err := nvidia.ReadFile("nvidia/installer")
	if err != nil {
		return err
	}
	stamp, err := stamps(files)
	if err != nil {
		return err
	}
	key, err := stage.Key(format, runfile, installer, files, stamp)
	if err != nil {
		return err
	}
	_, err = b.log.Do("file "+filepath.Base(runfile), key, func() error {
		data := bytes.NewBuffer(installer)
		if err := archive.TarGz(data, files); err != nil {
			return err
		}
		path := Runfile(string(b.cache))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, data.Bytes(), 0o755); err != nil {
			return err
		}
		sum := fmt.Appendf(nil, "%x  %s\n", sha256.Sum256(data.Bytes()), filepath.Base(path))
		return os.WriteFile(path+".sha256sum", sum, 0o644)
	})
	return err
}

// runfileFiles lists the files of a driver without systemd units, which the .run file does not
// have.
func (d driver) runfileFiles() ([]archive.File, error) {
	module, err := d.module("FLAVOUR")
	if err != nil {
		return nil, err
	}
	boot, err := stubFile("usr/lib/modules-load.d/nvidia-lab.conf", "modules-load.conf", 0o644)
	if err != nil {
		return nil, err
	}
	smi, err := stubFile("usr/bin/nvidia-smi", "nvidia-smi", 0o755)
	if err != nil {
		return nil, err
	}
	daemon, err := stubFile("usr/bin/nvidia-persistenced", "daemon", 0o755)
	return slices.Concat(module, []archive.File{boot, smi, daemon},
		d.cache.driverLibrary(d.version, "libcuda.so.1"), d.cache.driverLibrary(d.version, "libnvidia-ml.so.1")), err
}
