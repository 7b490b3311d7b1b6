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
	crioDropIns = "/etc/crio/crio.conf.d" // of an accelerator's toolkit, and of the site
	CrioDir     = "/var/lib/crio"
	// CRIOContainers has what CRI-O reads by way of containers/image: registries.conf,
	// registries.d, certs.d and policy.json. The unit makes it that of CRI-O alone, by
	// HOME: podman has its own in /etc/containers.
	CRIOContainers = "/etc/airgap/crio/.config/containers"
	crioPolicy     = CRIOContainers + "/policy.json"
	crioEnv        = CRIOContainers + "/environment"
)

// The unit for the archive, and what is set in any unit of CRI-O's.
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

// crioPackage is CRI-O from its project's package, which sets another default runtime in
// a drop-in of its own: ours comes after that, and before the site's (cri-o/packaging:
// cri-o.spec, bundle/10-crio.conf).
func crioPackage() engine {
	const helpers = "/usr/libexec/crio" // out of the way of podman's
	e := crio()
	e.rpm, e.bin, e.runc, e.conmon = "cri-o", "/usr/bin", helpers+"/runc", helpers+"/conmon"
	e.config = crioDropIns + "/20-airgap.conf"
	e.unit, e.unitText = "/etc/systemd/system/crio.service.d/50-airgap.conf", crioUnitSettings
	e.dump = []string{"--config-dir", crioDropIns, "config"}
	return e
}

// crioFiles are the configuration, and the policy of whose signatures an image needs:
// nobody's. What an image is, its digest says, and the bundle's index vouches for that.
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

// crioSettings has all tables below "crio" (crio.conf(5)). Storage is another than
// podman's, whose "system prune" would take the images.
func crioSettings(o Options) map[string]any {
	e := o.Runtime.engine()
	return map[string]any{"crio": map[string]any{
		"root":           CrioDir + "/storage",
		"runroot":        "/run/crio/storage",
		"storage_driver": "overlay",
		"storage_option": []any{"overlay.mountopt=nodev"}, // left out, they are podman's
		"imagestore":     "",
		"api":            map[string]any{"listen": crio().socket},
		"image": map[string]any{
			"global_auth_file":      CRIOContainers + "/auth.json", // left out, it is podman's login
			"pause_image":           o.Sandbox,
			"pinned_images":         o.Pinned,
			"signature_policy":      crioPolicy,
			"pull_progress_timeout": pullProgressTimeout,
		},
		"network": map[string]any{
			"network_dir": "/etc/cni/net.d",
			"plugin_dirs": []any{"/opt/cni/bin"},
		},
		"runtime": map[string]any{
			"cgroup_manager":  string(o.Facts.Driver),
			"conmon_cgroup":   "pod",
			"default_runtime": "runc",
			"hooks_dir":       []any{"/etc/crio/hooks.d"}, // podman's are for podman
			"namespaces_dir":  "/run/crio/ns",
			// Left out, a host's subscription to its vendor would be copied into each pod.
			"default_mounts_file": "/dev/null",
			// Left out, what an administrator has set for irqbalance would be put back.
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

// readCRIODump takes `crio config`, which writes what is its default as a comment.
func readCRIODump(dump []byte) (effective, error) {
	var config struct {
		CRIO struct {
			Runtime struct {
				Manager Driver `toml:"cgroup_manager"`
			} `toml:"runtime"`
		} `toml:"crio"`
	}
	config.CRIO.Runtime.Manager = Systemd
	if err := toml.Unmarshal(dump, &config); err != nil {
		return effective{}, err
	}
	return effective{Driver: config.CRIO.Runtime.Manager}, nil
}
