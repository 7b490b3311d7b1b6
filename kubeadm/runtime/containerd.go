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
	certsDir          = "/etc/containerd/certs.d" // where images come from
	runcType          = "io.containerd.runc.v2"   // the shim of runc, and of programs with its arguments
	// ours begins every file of the runtime that airgap wrote: what does not
	// begin so belongs to somebody else.
	ours = "# Written by airgap: change airgap.yaml (section runtime) instead.\n"
	// pullProgressTimeout is how long a pull waits for a byte. containerd looks
	// every 10 s, and the kubelet waits 10 s more. CRI-O counts the unpacking, too: after
	// more than that for a layer the pull fails, and the next one finds the layer there.
	pullProgressTimeout = "20s"
)

// The unit for the archive, and what is set in any unit of containerd's.
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

// containerdPackage is containerd from Docker's package, which has a runc, a unit, and a
// configuration without the Container Runtime Interface (docker/containerd-packaging:
// rpm/containerd.spec, common/containerd.toml).
func containerdPackage() engine {
	e := containerd()
	e.rpm, e.bin, e.runc = "containerd.io", "/usr/bin", "/usr/bin/runc"
	e.unit, e.unitText = "/etc/systemd/system/containerd.service.d/50-airgap.conf", containerdUnitSettings
	return e
}

// containerdFiles is the configuration alone. Up to 1.7 containerd reads version 2,
// from 2.0 on version 3, which later ones migrate in memory.
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

// settings3 has images and containers in plugins of their own.
func settings3(o Options) map[string]any {
	images := pulling()
	images["pinned_images"] = pins(o.Sandbox, o.Pinned)
	// The transfer service knows neither image_pull_with_sync_fs nor a request that
	// is never answered.
	images["use_local_image_pull"] = true
	return map[string]any{
		"version": 3,
		"imports": dropIns(),
		"plugins": map[string]any{"io.containerd.cri.v1.images": images, "io.containerd.cri.v1.runtime": running(o)},
	}
}

// settings2 has them in one, and pins the sandbox's image alone: PinStep does the
// others.
func settings2(o Options) map[string]any {
	cri := overlay.Merge(pulling(), running(o))
	cri["sandbox_image"] = o.Sandbox
	if o.NVIDIA {
		// In a drop-in it would take the place of all this. Devices by CDI are off by
		// default here.
		cri = overlay.Merge(overlay.Merge(cri, nvidiaHandler(o)), map[string]any{"enable_cdi": true})
	}
	return map[string]any{
		"version": 2,
		"imports": dropIns(),
		"plugins": map[string]any{"io.containerd.grpc.v1.cri": cri},
	}
}

// dropIns is where an accelerator's toolkit puts its runtime, and a site its own
// settings.
func dropIns() []string { return []string{containerdDropIns + "/*.toml"} }

// pulling is how images come.
func pulling() map[string]any {
	return map[string]any{
		"registry": map[string]any{"config_path": certsDir},
		// A registry host that dies in the middle of an answer is noticed by the bytes
		// that do not come: the kubelet asks again, the next registry, for the rest.
		"image_pull_progress_timeout": pullProgressTimeout,
		// A layer's files are on the disk before the image counts as there: after a
		// power cut it would be there with empty files, for ever.
		"image_pull_with_sync_fs": true,
	}
}

// running is how containers are run.
func running(o Options) map[string]any {
	return map[string]any{
		"enable_selinux": o.Facts.SELinux,
		"containerd": map[string]any{
			"default_runtime_name": "runc",
			"runtimes":             map[string]any{"runc": handler(o, o.Runtime.engine().runc)},
		},
	}
}

// handler runs containers by a program with runc's arguments, all of them with the
// same cgroup driver.
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

// pins names each image after the last element of its repository. containerd
// looks up "sandbox" by name and labels every other value when it is pulled.
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
