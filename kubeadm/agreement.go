package kubeadm

import (
	"context"
	"errors"
	"fmt"
	"os"

	"airgap.dev/airgap/internal/step"
	"sigs.k8s.io/yaml"
)

// Agreement is what the parts of a node effectively use.
type Agreement struct {
	Host, Runtime, Kubelet Driver
	Mirrors                string // by which the runtime finds registries; "" where its configuration does not say
	engine                 engine
}

// Err is nil when all three drivers are the same and images come from where they
// should.
func (a Agreement) Err() error {
	var drivers, mirrors error
	if a.Runtime != a.Host || a.Kubelet != a.Host {
		drivers = fmt.Errorf("cgroup drivers disagree: the host needs %s, %s uses %s, the kubelet uses %s", a.Host, a.engine.title, a.Runtime, a.Kubelet)
	}
	if a.Mirrors != a.engine.mirrors {
		mirrors = fmt.Errorf("%s looks for registries in %q, not in %s, and would ask the internet: see the files that %s imports", a.engine.title, a.Mirrors, a.engine.mirrors, a.engine.config)
	}
	return errors.Join(drivers, mirrors)
}

// ReadBack reads what is in effect: the runtime's own dump, drop-ins included, and
// the file that the kubelet reads when it starts.
func ReadBack(ctx context.Context, m Machine) (Agreement, error) {
	a := Agreement{engine: m.engine()}
	var err error
	if a.Host, err = HostDriver(m.Host); err != nil {
		return a, err
	}
	runtime, err := m.effective(ctx, a.engine)
	if err != nil {
		return a, err
	}
	a.Runtime, a.Mirrors = runtime.Driver, runtime.Mirrors
	a.Kubelet, err = kubeletDriver(m)
	return a, err
}

// AgreementStep holds when host, runtime and kubelet agree, and the runtime looks
// where our mirrors are. It changes
// nothing: it is the proof that the steps before it did their work.
func AgreementStep(m Machine) step.Step {
	read := func(ctx context.Context) error {
		a, err := ReadBack(ctx, m)
		if err != nil {
			return err
		}
		return a.Err()
	}
	return step.Step{
		Name: "cgroup-agreement", Title: "Read back what runtime and kubelet use",
		Done: func(ctx context.Context) (bool, error) {
			a, err := ReadBack(ctx, m)
			return err == nil && a.Err() == nil, err
		},
		Plan: func(context.Context) ([]string, error) { return nil, nil }, // it only looks
		Run:  read,
	}
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
