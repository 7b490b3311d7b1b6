package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
)

// DriverCheck has the effective cgroup drivers and mirrors of a node.
type DriverCheck struct {
	Host, Runtime, Kubelet Driver
	Others                 []string // files not written by airgap that may set the runtime's driver; only if it differs from the host's
	Mirrors                string   // directory in which the runtime finds its registries; "" if its configuration does not name one
	Network                string   // directory in which the runtime finds the pod network
	engine                 engine
}

// Err returns nil if all three drivers are equal and the runtime uses airgap's mirrors.
func (a DriverCheck) Err() error {
	var drivers, mirrors, network error
	if a.Runtime != a.Host || a.Kubelet != a.Host {
		drivers = fmt.Errorf("cgroup drivers differ: the host needs %s, %s uses %s, the kubelet uses %s", a.Host, a.engine.title, a.Runtime, a.Kubelet)
	}
	if a.Mirrors != a.engine.mirrors {
		mirrors = fmt.Errorf("%s reads registries from %q instead of %s and would pull from the internet: check the files that %s imports", a.engine.title, a.Mirrors, a.engine.mirrors, a.engine.config)
	}
	if a.Network != host.CNIDir {
		network = fmt.Errorf("%s reads the pod network from %q instead of %s: check the files that %s imports", a.engine.title, a.Network, host.CNIDir, a.engine.config)
	}
	return errors.Join(drivers, mirrors, network)
}

// ReadBack reads the effective settings: the dump of the runtime, including drop-ins, and the file
// that the kubelet reads at its start.
func ReadBack(ctx context.Context, m host.Machine) (DriverCheck, error) {
	a := DriverCheck{engine: engineOn(m)}
	var err error
	if a.Host, err = HostDriver(m.Host); err != nil {
		return a, err
	}
	runtime, err := readEffective(ctx, m, a.engine)
	if err != nil {
		return a, err
	}
	a.Runtime, a.Mirrors, a.Network = runtime.Driver, runtime.Mirrors, runtime.Network
	if a.Runtime != a.Host {
		if a.Others, err = foreignDropIns(m, a.engine); err != nil {
			return a, err
		}
	}
	a.Kubelet, err = kubeletDriver(m)
	return a, err
}

// AgreementStep checks that host, runtime and kubelet use the same cgroup driver, and that the
// runtime uses airgap's mirrors. It repairs later changes: a drop-in of airgap overrides a drop-in
// with another driver, and the kubelet fetches its configuration from the cluster again. It only
// reports other mirrors.
func AgreementStep(m host.Machine, k Kubelet) step.Step {
	s := agreement{m, k}
	return step.Step{
		Name: "cgroup-agreement", Title: "Check the cgroup drivers of runtime and kubelet",
		Done: func(ctx context.Context) (bool, error) {
			a, err := ReadBack(ctx, m)
			return err == nil && a.Err() == nil && !s.driverDiffers(ctx, a.Host), err
		},
		Plan: s.plan,
		Run:  s.agree,
	}
}

// Kubelet has the operations on the kubelet that AgreementStep needs.
type Kubelet struct {
	// Running returns the driver of the running kubelet. If it differs from its repaired file, the
	// step restarts the kubelet. The step ignores a kubelet that does not answer.
	Running func(context.Context) (string, error)
	Restart func(context.Context) error
	// Fetch writes the cluster's kubelet configuration to the host and restarts the kubelet.
	Fetch func(context.Context) error
}

type agreement struct {
	machine host.Machine
	kubelet Kubelet
}

func (s agreement) driverDiffers(ctx context.Context, want Driver) bool {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	is, err := s.kubelet.Running(ctx)
	return err == nil && Driver(is) != want
}

func (s agreement) plan(ctx context.Context) ([]string, error) {
	a, err := ReadBack(ctx, s.machine)
	if err != nil {
		return nil, err
	}
	var changes []string
	if a.Runtime != a.Host {
		changes = append(changes, fmt.Sprintf("write %s (it overrides %s)", a.engine.driver, strings.Join(a.Others, ", ")), "restart "+a.engine.name+".service")
	}
	if a.Kubelet != a.Host {
		changes = append(changes, "fetch "+KubeletConfig+" from the cluster")
	}
	if len(changes) > 0 || s.driverDiffers(ctx, a.Host) {
		changes = append(changes, "restart kubelet.service")
	}
	return changes, nil
}

// agree also restarts the kubelet if the runtime's driver has changed: the kubelet reads the driver
// from the runtime at its start (KEP-4033).
func (s agreement) agree(ctx context.Context) error {
	m := s.machine
	a, err := ReadBack(ctx, m)
	if err != nil {
		return err
	}
	overruled, err := overrule(ctx, m, a.engine, a.Host)
	if err != nil {
		return err
	}
	switch {
	case a.Kubelet != a.Host:
		err = s.kubelet.Fetch(ctx)
	case overruled, s.driverDiffers(ctx, a.Host):
		err = s.kubelet.Restart(ctx)
	}
	if err != nil {
		return err
	}
	if a, err = ReadBack(ctx, m); err != nil {
		return err
	}
	return a.Err()
}

func kubeletDriver(m host.Machine) (Driver, error) {
	data, err := os.ReadFile(m.Path(KubeletConfig))
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

// Paths of the kubelet's files and of its configuration.
const (
	KubeletDir    = "/var/lib/kubelet"
	KubeletConfig = KubeletDir + "/config.yaml"
)
