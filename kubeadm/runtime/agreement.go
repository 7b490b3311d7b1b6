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

// Agreement is what the parts of a node effectively use.
type Agreement struct {
	Host, Runtime, Kubelet Driver
	Others                 []string // where the runtime's driver is not the host's: files of others that may have set it
	Mirrors                string   // by which the runtime finds registries; "" where its configuration does not say
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
func ReadBack(ctx context.Context, m host.Machine) (Agreement, error) {
	a := Agreement{engine: engineOn(m)}
	var err error
	if a.Host, err = HostDriver(m.Host); err != nil {
		return a, err
	}
	runtime, err := readEffective(ctx, m, a.engine)
	if err != nil {
		return a, err
	}
	a.Runtime, a.Mirrors = runtime.Driver, runtime.Mirrors
	if a.Runtime != a.Host {
		if a.Others, err = strangers(m, a.engine); err != nil {
			return a, err
		}
	}
	a.Kubelet, err = kubeletDriver(m)
	return a, err
}

// AgreementStep holds when host, runtime and kubelet agree, and the runtime looks
// where our mirrors are. The steps before it brought that about. What somebody has
// changed since it puts right: a drop-in of the runtime's with another driver is
// overruled by one of ours, a kubelet's configuration is fetched from the cluster anew.
// Of other mirrors it only tells.
func AgreementStep(m host.Machine, k Kubelet) step.Step {
	s := agreement{m, k}
	return step.Step{
		Name: "cgroup-agreement", Title: "Read back what runtime and kubelet use",
		Done: func(ctx context.Context) (bool, error) {
			a, err := ReadBack(ctx, m)
			return err == nil && a.Err() == nil && !s.runsOtherwise(ctx, a.Host), err
		},
		Plan: s.plan,
		Run:  s.agree,
	}
}

// Kubelet are what agreementStep needs of the kubelet.
type Kubelet struct {
	// Running is the driver that it runs by, which may be that of a file that has been put
	// right since: then it is restarted. One that does not answer is left alone.
	Running func(context.Context) (string, error)
	Restart func(context.Context) error
	// Fetch gives it the configuration that the cluster has for all of them, and restarts it.
	Fetch func(context.Context) error
}

type agreement struct {
	machine host.Machine
	kubelet Kubelet
}

func (s agreement) runsOtherwise(ctx context.Context, want Driver) bool {
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
		changes = append(changes, fmt.Sprintf("write %s (it overrules %s)", a.engine.driver, strings.Join(a.Others, ", ")), "restart "+a.engine.name+".service")
	}
	if a.Kubelet != a.Host {
		changes = append(changes, "fetch "+KubeletConfig+" from the cluster anew")
	}
	if len(changes) > 0 || s.runsOtherwise(ctx, a.Host) {
		changes = append(changes, "restart kubelet.service")
	}
	return changes, nil
}

// agree restarts the kubelet when the runtime has got another driver, too: it asked it
// for that when it started (KEP-4033).
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
	case overruled, s.runsOtherwise(ctx, a.Host):
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

// Where the kubelet has its files, and its configuration among them.
const (
	KubeletDir    = "/var/lib/kubelet"
	KubeletConfig = KubeletDir + "/config.yaml"
)
