package runtime

import (
	_ "embed"
	"fmt"
	"path"

	"github.com/pelletier/go-toml/v2"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/overlay"
)

const (
	crioConfig  = "/etc/crio/crio.conf"
	crioDropIns = "/etc/crio/crio.conf.d" // drop-ins of a GPU toolkit and of the site
	CrioDir     = "/var/lib/crio"
	// CRIOContainers has the files that CRI-O reads through containers/image: registries.conf,
	// registries.d, certs.d and policy.json. Only CRI-O uses this directory, because its unit sets
	// HOME; podman uses /etc/containers.
	CRIOContainers = "/etc/airgap/crio/.config/containers"
	crioPolicy     = CRIOContainers + "/policy.json"
	crioEnv        = CRIOContainers + "/environment"
)

// The unit for the archive, and the settings for every unit of CRI-O.
var (
	//go:embed crio.service
	crioService string
	//go:embed crio.conf
	crioUnitSettings string
)

func crio() engine {
	return engine{
		name: "crio", title: "CRI-O",
		bin: host.BinDir, runc: host.BinDir + "/runc", conmon: host.BinDir + "/conmon",
		socket: "/run/crio/crio.sock",
		config: crioConfig, dropIns: crioDropIns, nvidia: crioDropIns + "/10-airgap-nvidia.conf", driver: crioDropIns + "/zz-airgap-cgroup.conf",
		unit: "/etc/systemd/system/crio.service", unitText: crioService + crioUnitSettings,
		programs: []string{"crio", "conmon", "pinns", "runc"},
		once:     true,
		env:      crioEnv,
		extra:    []string{crioPolicy},
		files:    crioFiles,
		dump:     []string{"--config", crioConfig, "--config-dir", crioDropIns, "config"},
		readDump: readCRIODump,
		drives:   crioDrives,
	}
}

// crioPackage is CRI-O from its project's package. The package sets another default runtime in a
// drop-in: airgap's drop-in comes after it, and before those of the site (cri-o/packaging:
// cri-o.spec, bundle/10-crio.conf).
func crioPackage() engine {
	const helpers = "/usr/libexec/crio" // a directory that podman does not use
	e := crio()
	e.rpm, e.bin, e.runc, e.conmon = "cri-o", "/usr/bin", helpers+"/runc", helpers+"/conmon"
	e.config = crioDropIns + "/20-airgap.conf"
	e.unit, e.unitText = "/etc/systemd/system/crio.service.d/50-airgap.conf", crioUnitSettings
	e.dump = []string{"--config-dir", crioDropIns, "config"}
	return e
}

// crioFiles returns the configuration and the signature policy. The policy requires no image
// signatures: the digest identifies the image, and the bundle's index ensures the digest.
func crioFiles(o Options) (map[string][]byte, error) {
	text, err := toml.Marshal(overlay.Merge(crioSettings(o), o.Runtime.Overrides))
	if err != nil {
		return nil, fmt.Errorf("write CRI-O's configuration: %w", err)
	}
	e := o.Runtime.engine()
	files := map[string][]byte{
		e.config:   append([]byte(ours), text...),
		crioPolicy: []byte(`{"default": [{"type": "insecureAcceptAnything"}]}` + "\n"),
	}
	if o.NVIDIA {
		files[e.nvidia], err = dropIn(map[string]any{"crio": map[string]any{"runtime": map[string]any{
			"runtimes": map[string]any{nvidiaName: map[string]any{
				"runtime_path": nvidiaProgram,
				"runtime_root": "/run/crio/nvidia",
				"monitor_path": e.conmon,
			}},
		}}})
	}
	return files, err
}

// crioSettings returns all tables below "crio" (crio.conf(5)). The storage is separate from podman's,
// because "podman system prune" would delete the images.
func crioSettings(o Options) map[string]any {
	e := o.Runtime.engine()
	return map[string]any{"crio": map[string]any{
		"root":           CrioDir + "/storage",
		"runroot":        "/run/crio/storage",
		"storage_driver": "overlay",
		"storage_option": []any{"overlay.mountopt=nodev"}, // the default is podman's options
		"imagestore":     "",
		"api":            map[string]any{"listen": crio().socket},
		"image": map[string]any{
			"global_auth_file":      CRIOContainers + "/auth.json", // the default is podman's login
			"pause_image":           o.Sandbox,
			"pinned_images":         o.Pinned,
			"signature_policy":      crioPolicy,
			"pull_progress_timeout": pullProgressTimeout,
		},
		"network": map[string]any{
			"network_dir": host.CNIDir,
			"plugin_dirs": []any{"/opt/cni/bin"},
		},
		"runtime": map[string]any{
			"cgroup_manager":  string(o.Facts.Driver),
			"conmon_cgroup":   "pod",
			"default_runtime": "runc",
			"hooks_dir":       []any{"/etc/crio/hooks.d"}, // not podman's hooks
			"namespaces_dir":  "/run/crio/ns",
			// The default copies the host's subscription into each pod.
			"default_mounts_file": "/dev/null",
			// The default resets the administrator's settings of irqbalance.
			"irqbalance_config_restore_file": "disable",
			"pinns_path":                     path.Join(e.bin, "pinns"),
			"selinux":                        o.Facts.SELinux,
			"runtimes": map[string]any{"runc": map[string]any{
				"runtime_path": e.runc,
				"runtime_root": "/run/crio/runc",
				"monitor_path": e.conmon,
			}},
		},
	}}
}

// readCRIODump reads the output of `crio config`, which prints default values as comments.
func readCRIODump(dump []byte) (effective, error) {
	var config struct {
		CRIO struct {
			Runtime struct {
				Manager Driver `toml:"cgroup_manager"`
			} `toml:"runtime"`
			Network struct {
				Dir string `toml:"network_dir"`
			} `toml:"network"`
		} `toml:"crio"`
	}
	config.CRIO.Runtime.Manager, config.CRIO.Network.Dir = Systemd, host.SharedCNIDir
	if err := toml.Unmarshal(dump, &config); err != nil {
		return effective{}, err
	}
	return effective{Driver: config.CRIO.Runtime.Manager, Network: config.CRIO.Network.Dir}, nil
}
