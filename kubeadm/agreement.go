package kubeadm

import (
	"context"
	"errors"
	"fmt"
	"os"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"github.com/pelletier/go-toml/v2"
	"sigs.k8s.io/yaml"
)

// Agreement is what the parts of a node effectively use.
type Agreement struct {
	Host, Runtime, Kubelet Driver
}

// Err is nil when all three are the same.
func (a Agreement) Err() error {
	if a.Runtime == a.Host && a.Kubelet == a.Host {
		return nil
	}
	return fmt.Errorf("cgroup drivers disagree: the host needs %s, containerd uses %s, the kubelet uses %s", a.Host, a.Runtime, a.Kubelet)
}

// ReadBack reads the effective cgroup drivers: containerd's own dump, drop-ins
// included, and the configuration that the kubelet was started with.
func ReadBack(ctx context.Context, m Machine) (Agreement, error) {
	var a Agreement
	var err error
	if a.Host, err = HostDriver(m.Host); err != nil {
		return a, err
	}
	if a.Runtime, err = runtimeDriver(ctx, m); err != nil {
		return a, err
	}
	a.Kubelet, err = kubeletDriver(m)
	return a, err
}

// AgreementStep holds when host, runtime and kubelet agree. It changes
// nothing: it is the proof that the steps before it did their work.
func AgreementStep(m Machine) step.Step {
	read := func(ctx context.Context) error {
		a, err := ReadBack(ctx, m)
		return errors.Join(err, a.Err())
	}
	return step.Step{
		Name: "cgroup-agreement", Title: "Read back the cgroup driver of runtime and kubelet",
		Done: func(ctx context.Context) (bool, error) {
			a, err := ReadBack(ctx, m)
			return err == nil && a.Err() == nil, err
		},
		Plan: func(context.Context) ([]string, error) { return nil, nil }, // it only looks
		Run:  read,
	}
}

func runtimeDriver(ctx context.Context, m Machine) (Driver, error) {
	dump, err := m.Host.Run(ctx, host.Cmd{Name: m.path(BinDir + "/containerd"), Args: []string{"--config", m.path(containerdConfig), "config", "dump"}})
	if err != nil {
		return "", fmt.Errorf("read the runtime's effective configuration: %w", err)
	}
	return driverInDump(dump)
}

// driverInDump reads the default runtime's driver. Versions 3 and 4 of
// containerd's configuration have it in the same place.
func driverInDump(dump []byte) (Driver, error) {
	type runtime struct {
		Options struct{ SystemdCgroup bool }
	}
	var config struct {
		Plugins struct {
			CRI struct {
				Containerd struct {
					DefaultRuntimeName string             `toml:"default_runtime_name"`
					Runtimes           map[string]runtime `toml:"runtimes"`
				} `toml:"containerd"`
			} `toml:"io.containerd.cri.v1.runtime"`
		} `toml:"plugins"`
	}
	if err := toml.Unmarshal(dump, &config); err != nil {
		return "", fmt.Errorf("read the runtime's effective configuration: %w", err)
	}
	cri := config.Plugins.CRI.Containerd
	chosen, ok := cri.Runtimes[cri.DefaultRuntimeName]
	if !ok {
		return "", fmt.Errorf("read the runtime's effective configuration: its default runtime %q is not defined", cri.DefaultRuntimeName)
	}
	if chosen.Options.SystemdCgroup {
		return Systemd, nil
	}
	return Cgroupfs, nil
}

func kubeletDriver(m Machine) (Driver, error) {
	data, err := os.ReadFile(m.path(kubeletConfig))
	if err != nil {
		return "", fmt.Errorf("read the kubelet's configuration: %w", err)
	}
	var config struct {
		CgroupDriver Driver `json:"cgroupDriver"`
	}
	if err := yaml.Unmarshal(data, &config); err != nil {
		return "", fmt.Errorf("read the kubelet's configuration: %w", err)
	}
	if config.CgroupDriver == "" {
		return Cgroupfs, nil // the kubelet's own default
	}
	return config.CgroupDriver, nil
}
