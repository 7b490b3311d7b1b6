package runtime

import (
	_ "embed"
	"fmt"

	"github.com/pelletier/go-toml/v2"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/overlay"
	"airgap.dev/airgap/internal/reference"
)

const (
	containerdConfig  = "/etc/containerd/config.toml"
	containerdDropIns = "/etc/containerd/conf.d"
	certsDir          = "/etc/containerd/certs.d" // registry mirrors
	runcType          = "io.containerd.runc.v2"   // the shim of runc and of programs with the same arguments
	// ours is the first line of every runtime file that airgap writes. Files without it belong
	// to the site or to a package.
	ours = "# Written by airgap: change airgap.yaml (section runtime) instead.\n"
	// pullProgressTimeout is the time that a pull waits for the next byte. containerd checks
	// every 10 s, and the kubelet waits 10 s more. CRI-O includes the unpacking of a layer: if that
	// takes longer, the pull fails, and the next pull finds the layer.
	pullProgressTimeout = "20s"
)

// The unit for the archive, and the settings for every unit of containerd.
var (
	//go:embed containerd.service
	containerdService string
	//go:embed containerd.conf
	containerdUnitSettings string
)

func containerd() engine {
	return engine{
		name: "containerd", title: "containerd",
		bin: host.BinDir, runc: host.BinDir + "/runc",
		socket: "/run/containerd/containerd.sock",
		config: containerdConfig, dropIns: containerdDropIns, nvidia: containerdDropIns + "/airgap-nvidia.toml", driver: containerdDropIns + "/zz-airgap-cgroup.toml",
		unit: "/etc/systemd/system/containerd.service", unitText: containerdService + containerdUnitSettings,
		programs: []string{"containerd", "containerd-shim-runc-v2"},
		mirrors:  certsDir,
		files:    containerdFiles,
		dump:     []string{"--config", containerdConfig, "config", "dump"},
		readDump: readContainerdDump,
		drives:   containerdDrives,
	}
}

// containerdPackage is containerd from Docker's package. The package contains runc, a unit and a
// configuration that disables the CRI (docker/containerd-packaging: rpm/containerd.spec,
// common/containerd.toml).
func containerdPackage() engine {
	e := containerd()
	e.rpm, e.bin, e.runc = "containerd.io", "/usr/bin", "/usr/bin/runc"
	e.unit, e.unitText = "/etc/systemd/system/containerd.service.d/50-airgap.conf", containerdUnitSettings
	return e
}

// containerdFiles returns the configuration. containerd up to 1.7 reads version 2. From 2.0 on it
// reads version 3, and later releases migrate that in memory.
func containerdFiles(o Options) (map[string][]byte, error) {
	settings := settings3
	if o.Runtime.configVersion() < 3 {
		settings = settings2
	}
	text, err := toml.Marshal(overlay.Merge(settings(o), o.Runtime.Overrides))
	if err != nil {
		return nil, fmt.Errorf("write containerd's configuration: %w", err)
	}
	files := map[string][]byte{containerdConfig: append([]byte(ours), text...)}
	if o.NVIDIA && o.Runtime.configVersion() == 3 {
		files[containerd().nvidia], err = dropIn(map[string]any{
			"version": 3,
			"plugins": map[string]any{"io.containerd.cri.v1.runtime": nvidiaHandler(o)},
		})
	}
	return files, err
}

// settings3 returns the settings of configuration version 3, with separate plugins for images and
// containers.
func settings3(o Options) map[string]any {
	images := pulling()
	images["pinned_images"] = pins(o.Sandbox, o.Pinned)
	// The transfer service has no image_pull_with_sync_fs and no timeout for a request without an
	// answer.
	images["use_local_image_pull"] = true
	return map[string]any{
		"version": 3,
		"imports": dropIns(),
		"plugins": map[string]any{"io.containerd.cri.v1.images": images, "io.containerd.cri.v1.runtime": running(o)},
	}
}

// settings2 returns the settings of configuration version 2, with one plugin. It can pin only the
// sandbox image; PinStep pins the others.
func settings2(o Options) map[string]any {
	cri := overlay.Merge(pulling(), running(o))
	cri["sandbox_image"] = o.Sandbox
	if o.NVIDIA {
		// A drop-in would replace the whole plugin table. CDI devices are disabled by default in
		// this version.
		cri = overlay.Merge(overlay.Merge(cri, nvidiaHandler(o)), map[string]any{"enable_cdi": true})
	}
	return map[string]any{
		"version": 2,
		"imports": dropIns(),
		"plugins": map[string]any{"io.containerd.grpc.v1.cri": cri},
	}
}

// dropIns returns the imported files: the runtime of a GPU toolkit, and the settings of the site.
func dropIns() []string { return []string{containerdDropIns + "/*.toml"} }

// pulling returns the settings for image pulls.
func pulling() map[string]any {
	return map[string]any{
		"registry": map[string]any{"config_path": certsDir},
		// Detects a registry host that fails during an answer: the kubelet pulls again, and the
		// runtime gets the rest from the next registry.
		"image_pull_progress_timeout": pullProgressTimeout,
		// Syncs the files of a layer to disk before the image exists: otherwise the image could
		// have empty files after a power failure, permanently.
		"image_pull_with_sync_fs": true,
	}
}

// running returns the settings for containers.
func running(o Options) map[string]any {
	return map[string]any{
		"enable_selinux": o.Facts.SELinux,
		"cni":            map[string]any{"conf_dir": host.CNIDir},
		"containerd": map[string]any{
			"default_runtime_name": "runc",
			"runtimes":             map[string]any{"runc": handler(o, o.Runtime.engine().runc)},
		},
	}
}

// handler returns a runtime handler for a program with runc's arguments. All handlers have the same
// cgroup driver.
func handler(o Options, program string) map[string]any {
	return map[string]any{
		"runtime_type": runcType,
		"options": map[string]any{
			"BinaryName":    program,
			"SystemdCgroup": o.Facts.Driver == Systemd,
		},
	}
}

func nvidiaHandler(o Options) map[string]any {
	return map[string]any{"containerd": map[string]any{"runtimes": map[string]any{nvidiaName: handler(o, nvidiaProgram)}}}
}

// pins maps a name to each image: the last element of its repository. containerd looks up "sandbox"
// by name, and labels each of the other images when it pulls it.
func pins(sandbox string, images []string) map[string]any {
	named := map[string]any{"sandbox": sandbox}
	for _, image := range images {
		if image == sandbox {
			continue
		}
		base := reference.BaseOf(image)
		key := base
		for n := 2; named[key] != nil && named[key] != image; n++ {
			key = fmt.Sprintf("%s-%d", base, n)
		}
		named[key] = image
	}
	return named
}
