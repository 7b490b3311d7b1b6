package kubeadm

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/overlay"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/leave"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/runtime"
)

// Upgrade brings a host that has joined to another version of Kubernetes, or to
// another configuration of it. ControlPlane comes before the new kubelet's package
// and Kubelet after it: a kubelet must not be newer than the API server (version skew
// policy).
type Upgrade struct {
	Machine Machine
	Config  Config
	Node    Node
	Facts   runtime.Facts
	First   bool // this host upgrades what all have in common

	patience time.Duration // with the kubelet, and with a Job of kubeadm's; 0 is Config's
}

const (
	upgradeFile = "/etc/airgap/kubeadm-upgrade.yaml" // UpgradeConfiguration
)

// ControlPlane has kubeadm upgrade the static pods of this host, if it has any, the
// kubelet's configuration and, on the first host, what all have in common. kubeadm
// itself puts static pods back that do not come up, and may be run again.
func (u Upgrade) ControlPlane() step.Step {
	return step.Step{
		Name: "kubeadm-upgrade", Title: "Upgrade this host's part of the cluster (kubeadm upgrade)",
		Done: u.planeDone,
		Plan: func(context.Context) ([]string, error) { return u.plan(), nil },
		Run:  u.run,
	}
}

// Kubelet starts the kubelet whose package and configuration are there by now, and
// waits until the API server shows it with its version.
func (u Upgrade) Kubelet() step.Step {
	return step.Step{
		Name: "kubelet-upgrade", Title: "Start the upgraded kubelet",
		Done: u.kubeletDone,
		Plan: func(context.Context) ([]string, error) { return []string{"restart kubelet.service"}, nil },
		Run:  u.startKubelet,
	}
}

func (u Upgrade) planeDone(context.Context) (bool, error) {
	want, whole, half, err := u.noted()
	return half == want || half == configured{} && whole == want, err
}

func (u Upgrade) kubeletDone(context.Context) (bool, error) {
	want, whole, half, err := u.noted()
	return half == configured{} && whole == want, err
}

// noted is how this host is to be configured, how it is, and for what kubeadm alone has
// done its part.
func (u Upgrade) noted() (want, whole, half configured, err error) {
	if want, err = u.Machine.configuredBy(u.Config, u.Node); err != nil {
		return want, whole, half, err
	}
	if whole, err = host.ReadJSON[configured](u.Machine.Path(leave.ConfiguredFile)); err != nil {
		return want, whole, half, err
	}
	half, err = host.ReadJSON[configured](u.Machine.Path(leave.UpgradedFile))
	return want, whole, half, err
}

func (u Upgrade) plan() []string {
	changes := []string{"kubeadm " + u.verb() + ": Kubernetes " + u.Config.Tag()}
	if u.First {
		changes = append([]string{"write " + leave.ConfigFile, "upload the configuration of kubeadm and of the kubelets to the cluster"}, changes...)
	}
	return changes
}

func (u Upgrade) verb() string {
	if u.First {
		return "upgrade apply"
	}
	return "upgrade node"
}

func (u Upgrade) run(ctx context.Context) error {
	m := u.Machine
	text, err := documents(u.configuration())
	if err != nil {
		return err
	}
	if err := host.WriteFile(m.Path(upgradeFile), text, 0o600); err != nil {
		return err
	}
	if u.First {
		err = u.runFirst(ctx)
	} else {
		err = node.Kubeadm(ctx, m.Machine, nil, nil, "upgrade", "node", "--config", m.Path(upgradeFile))
	}
	if err != nil {
		return err
	}
	want, err := m.configuredBy(u.Config, u.Node)
	if err != nil {
		return err
	}
	return host.WriteJSON(m.Path(leave.UpgradedFile), want)
}

// runFirst gives the cluster the new configuration, from which kubeadm then makes
// static pods and the kubelets' file; DNS and kube-proxy too, on the last of the
// control-plane hosts.
func (u Upgrade) runFirst(ctx context.Context) error {
	m := u.Machine
	text, err := InitDocuments(u.Config, u.Node, u.Facts)
	if err != nil {
		return err
	}
	if err := host.WriteFile(m.Path(leave.ConfigFile), text, 0o600); err != nil {
		return err
	}
	if err := node.Kubeadm(ctx, m.Machine, nil, nil, "init", "phase", "upload-config", "all", "--config", m.Path(leave.ConfigFile)); err != nil {
		return err
	}
	return u.apply(ctx)
}

// apply has kubeadm try again, as long as an API server may take to answer, where nothing
// but its Job was too slow: it gives that one minute (check CreateJob, before anything is
// changed), in which on a host that has just booted the pods' network and the leases of
// the control plane's programs may not be back.
func (u Upgrade) apply(ctx context.Context) error {
	m, until := u.Machine, time.Now().Add(cmp.Or(u.patience, u.Config.APIPatience()))
	for {
		err := node.Kubeadm(ctx, m.Machine, nil, nil, "upgrade", "apply", "--yes", "--config", m.Path(upgradeFile))
		if err == nil || !onlyJob(err) || !time.Now().Before(until) || ctx.Err() != nil {
			return err
		}
	}
}

// onlyJob reports whether kubeadm failed for its Job and for nothing else.
func onlyJob(err error) bool {
	return strings.Contains(err.Error(), "[ERROR CreateJob]") && strings.Count(err.Error(), "[ERROR ") == 1
}

// configuration is kubeadm's for an upgrade (kubeadm.k8s.io/v1beta4).
func (u Upgrade) configuration() object {
	how := object{"imagePullPolicy": "IfNotPresent"}
	if len(u.Config.IgnorePreflightErrors) > 0 {
		how["ignorePreflightErrors"] = u.Config.IgnorePreflightErrors
	}
	return withTimeouts(u.Config, object{
		"apiVersion": kubeadmAPI, "kind": "UpgradeConfiguration",
		"apply": overlay.Merge(how, object{"kubernetesVersion": u.Config.Tag()}),
		"node":  how,
	})
}

func (u Upgrade) startKubelet(ctx context.Context) error {
	m := u.Machine
	for _, args := range [][]string{{"daemon-reload"}, {"enable", "kubelet"}, {"restart", "kubelet"}} {
		if err := m.Run(ctx, "systemctl", args...); err != nil {
			return runtime.Explain(ctx, m.Machine, host.Failure{What: "start the kubelet", Err: err, Unit: "kubelet"})
		}
	}
	if err := node.AwaitNode(ctx, m.Machine, cmp.Or(u.patience, u.Config.kubeletPatience()), u.kubeletIs); err != nil {
		return runtime.Explain(ctx, m.Machine, host.Failure{What: "wait for the upgraded kubelet", Err: err, Unit: "kubelet"})
	}
	if err := m.noteConfigured(u.Config, u.Node); err != nil {
		return err
	}
	return host.Remove(m.Path(leave.UpgradedFile))
}

// kubeletPatience is how long a kubelet may take to be seen with its new version: on
// slow machines as long as kubeadm waits for it there.
func (c Config) kubeletPatience() time.Duration { return c.patience("kubeletHealthCheck") }

// APIPatience is how long an API server may take to answer after its host was started:
// two minutes, on slow machines as long as kubeadm waits for it there.
func (c Config) APIPatience() time.Duration { return c.patience("kubernetesAPICall") }

func (c Config) patience(timeout string) time.Duration {
	wanted, err := time.ParseDuration(c.Overrides.Timeouts[timeout])
	if err != nil {
		wanted = 0
	}
	return max(wanted, 2*time.Minute)
}

// kubeletIs is nil when the API server shows this node as ready, with the version
// that it is to have. The kubelet's own credentials may read just this.
func (u Upgrade) kubeletIs(ctx context.Context) error {
	client, err := kube.Client(u.Machine.Machine, kube.KubeletConf)
	if err != nil {
		return err
	}
	node, err := client.CoreV1().Nodes().Get(ctx, u.Node.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("ask the API server for node %s: %w", u.Node.Name, err)
	}
	if have := node.Status.NodeInfo.KubeletVersion; have != u.Config.Tag() {
		return fmt.Errorf("the API server shows node %s with kubelet %s, not %s", u.Node.Name, have, u.Config.Tag())
	}
	if !kube.NodeReady(node) {
		return fmt.Errorf("node %s is not ready", u.Node.Name)
	}
	return nil
}
