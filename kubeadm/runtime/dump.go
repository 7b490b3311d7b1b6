package runtime

import (
	"context"
	"fmt"

	"github.com/pelletier/go-toml/v2"

	"airgap.dev/airgap/internal/host"
)

// effective has the settings that result from the runtime's configuration and all drop-ins.
type effective struct {
	Driver  Driver // of the default runtime handler
	Default string // name of the default handler; "" for CRI-O, because all its handlers have one driver
	Type    string // type of the default handler, only containerd: "io.containerd.runc.v2"
	Version int    // version of the configuration format, only containerd
	Mirrors string // directory with the registry mirrors; "" if the configuration does not name it
	Network string // directory with the configuration of the pod network
}

func readEffective(ctx context.Context, m host.Machine, e engine) (effective, error) {
	dump, err := dump(ctx, m, e)
	if err != nil {
		return effective{}, err
	}
	found, err := e.readDump(dump)
	if err != nil {
		return found, fmt.Errorf("read the runtime's effective configuration: %w", err)
	}
	return found, nil
}

// Dump returns the effective configuration of the runtime on this host, as its program prints it.
func Dump(ctx context.Context, m host.Machine) ([]byte, error) { return dump(ctx, m, engineOn(m)) }

func dump(ctx context.Context, m host.Machine, e engine) ([]byte, error) {
	dump, err := m.Host.Run(ctx, host.Cmd{Name: m.Path(e.program()), Args: e.dump})
	if err != nil {
		return nil, fmt.Errorf("read the runtime's effective configuration: %w", err)
	}
	return dump, nil
}

// readContainerdDump reads the output of `containerd config dump`. Configuration versions 3 and 4
// have two plugins, version 2 has one.
func readContainerdDump(dump []byte) (effective, error) {
	type images struct {
		Registry struct {
			ConfigPath string `toml:"config_path"`
		} `toml:"registry"`
	}
	type runtimes struct {
		CNI struct {
			ConfDir string `toml:"conf_dir"`
		} `toml:"cni"`
		Containerd struct {
			DefaultRuntimeName string `toml:"default_runtime_name"`
			Runtimes           map[string]struct {
				Type    string `toml:"runtime_type"`
				Options struct{ SystemdCgroup bool }
			} `toml:"runtimes"`
		} `toml:"containerd"`
	}
	var config struct {
		Plugins struct {
			Images   images   `toml:"io.containerd.cri.v1.images"`
			Runtimes runtimes `toml:"io.containerd.cri.v1.runtime"`
			CRI2     *struct {
				images
				runtimes
			} `toml:"io.containerd.grpc.v1.cri"`
		} `toml:"plugins"`
		Version int `toml:"version"`
	}
	if err := toml.Unmarshal(dump, &config); err != nil {
		return effective{}, err
	}
	i, r := config.Plugins.Images, config.Plugins.Runtimes
	if config.Version == 2 && config.Plugins.CRI2 != nil {
		i, r = config.Plugins.CRI2.images, config.Plugins.CRI2.runtimes
	}
	e := effective{Driver: Cgroupfs, Default: r.Containerd.DefaultRuntimeName, Version: config.Version, Mirrors: i.Registry.ConfigPath, Network: r.CNI.ConfDir}
	chosen, ok := r.Containerd.Runtimes[e.Default]
	if !ok {
		return e, fmt.Errorf("the default runtime %q is not defined", e.Default)
	}
	if e.Type = chosen.Type; chosen.Options.SystemdCgroup {
		e.Driver = Systemd
	}
	return e, nil
}
