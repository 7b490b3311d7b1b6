package kubeadm

import (
	"cmp"
	"context"
	"fmt"
	"os"
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

// Upgrade moves a joined host to another version or configuration of Kubernetes. ControlPlane
// runs before the installation of the new kubelet package, and Kubelet after it: a kubelet must
// not be newer than the API server (version skew policy).
type Upgrade struct {
	Machine Machine
	Config  Config
	Node    Node
	Facts   runtime.Facts
	First   bool // this host upgrades the objects that all hosts share

	patience time.Duration // timeout for the kubelet and for kubeadm's Job; 0 uses that of Config
}

const upgradeFile = "/etc/airgap/kubeadm-upgrade.yaml" // UpgradeConfiguration

// ControlPlane runs kubeadm upgrade: it upgrades the host's static pods, the kubelet's
// configuration and, on the first host, the objects that all hosts share. kubeadm restores the old
// manifests if a static pod does not start. The step can run again.
func (u Upgrade) ControlPlane() step.Step {
	return step.Step{
		Name: "kubeadm-upgrade", Title: "Upgrade this host's part of the cluster (kubeadm upgrade)",
		Done: u.planeDone,
		Plan: func(context.Context) ([]string, error) { return u.plan() },
		Run:  u.run,
	}
}

// Kubelet restarts the kubelet with its new package and configuration, and waits until the API
// server shows the new version.
func (u Upgrade) Kubelet() step.Step {
	return step.Step{
		Name: "kubelet-upgrade", Title: "Start the upgraded kubelet",
		Done: u.kubeletDone,
		Plan: func(context.Context) ([]string, error) { return []string{"restart kubelet.service"}, nil },
		Run:  u.startKubelet,
	}
}

func (u Upgrade) planeDone(context.Context) (bool, error) {
	want, have, half, err := u.noted()
	return half == want || half == configured{} && have == want, err
}

func (u Upgrade) kubeletDone(context.Context) (bool, error) {
	want, have, half, err := u.noted()
	return half == configured{} && have == want, err
}

// noted returns the wanted configuration of this host, its current one, and the one of an upgrade
// for which kubeadm is done, but the kubelet is not.
func (u Upgrade) noted() (want, have, half configured, err error) {
	if want, err = u.Machine.configuredBy(u.Config, u.Node); err != nil {
		return want, have, half, err
	}
	if have, err = host.ReadJSON[configured](u.Machine.Path(leave.ConfiguredFile)); err != nil {
		return want, have, half, err
	}
	half, err = host.ReadJSON[configured](u.Machine.Path(leave.UpgradedFile))
	return want, have, half, err
}

func (u Upgrade) plan() ([]string, error) {
	files, err := u.Machine.patchesAtUpgrade(u.Config, u.Node)
	if err != nil {
		return nil, err
	}
	changes, err := host.PlanFiles(files, 0o644)
	if u.First {
		changes = append(changes, "write "+leave.ConfigFile, "upload the configuration of kubeadm and of the kubelets to the cluster")
	}
	return append(changes, "kubeadm "+u.verb()+": Kubernetes "+u.Config.Tag()), err
}

func (u Upgrade) verb() string {
	if u.First {
		return "upgrade apply"
	}
	return "upgrade node"
}

func (u Upgrade) run(ctx context.Context) error {
	m := u.Machine
	if err := m.updatePatches(u.Config, u.Node); err != nil {
		return err
	}
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

// runFirst uploads the new configuration to the cluster. From it kubeadm creates the static pods
// and the kubelets' files and, on the last control-plane host, CoreDNS and kube-proxy.
func (u Upgrade) runFirst(ctx context.Context) error {
	m := u.Machine
	if err := u.writeConfig(); err != nil {
		return err
	}
	if err := node.Kubeadm(ctx, m.Machine, nil, nil, "init", "phase", "upload-config", "all", "--config", m.Path(leave.ConfigFile)); err != nil {
		return err
	}
	return u.apply(ctx)
}

// writeConfig writes the configuration for kubeadm init phase. A host that joined has none until it leads an upgrade.
func (u Upgrade) writeConfig() error {
	text, err := InitDocuments(u.Config, u.Node, u.Facts)
	if err != nil {
		return err
	}
	return host.WriteFile(u.Machine.Path(leave.ConfigFile), text, 0o600)
}

// apply runs kubeadm upgrade apply, and retries for APITimeout if only its Job was too slow.
// kubeadm waits one minute for the Job before it changes anything (preflight check CreateJob).
// Shortly after a boot, the pod network and the leases of the control plane may need longer.
func (u Upgrade) apply(ctx context.Context) error {
	m, until := u.Machine, time.Now().Add(cmp.Or(u.patience, u.Config.APITimeout()))
	for {
		err := node.Kubeadm(ctx, m.Machine, nil, nil, "upgrade", "apply", "--yes", "--config", m.Path(upgradeFile))
		if err == nil || !onlyJob(err) || !time.Now().Before(until) || ctx.Err() != nil {
			return err
		}
	}
}

// onlyJob reports whether kubeadm failed only because of its Job.
func onlyJob(err error) bool {
	return strings.Contains(err.Error(), "[ERROR CreateJob]") && strings.Count(err.Error(), "[ERROR ") == 1
}

// configuration is the UpgradeConfiguration (kubeadm.k8s.io/v1beta4).
func (u Upgrade) configuration() object {
	how := object{"imagePullPolicy": "IfNotPresent"}
	if len(u.Config.IgnorePreflightErrors) > 0 {
		how["ignorePreflightErrors"] = u.Config.IgnorePreflightErrors
	}
	if _, err := os.Stat(u.Machine.Path(node.PatchesDir)); err == nil {
		how["patches"] = object{"directory": u.Machine.Path(node.PatchesDir)}
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
	if err := node.AwaitNode(ctx, m.Machine, cmp.Or(u.patience, u.Config.kubeletPatience()), u.kubeletUpgraded); err != nil {
		return runtime.Explain(ctx, m.Machine, host.Failure{What: "wait for the upgraded kubelet", Err: err, Unit: "kubelet"})
	}
	if err := m.noteConfigured(u.Config, u.Node); err != nil {
		return err
	}
	return host.Remove(m.Path(leave.UpgradedFile))
}

// kubeletPatience is the time in which a kubelet must report its new version: two minutes, or
// kubeadm's timeout for slow machines if that is longer.
func (c Config) kubeletPatience() time.Duration { return c.patience("kubeletHealthCheck") }

// APITimeout is the time in which an API server must answer after the start of its host: two
// minutes, or kubeadm's timeout for slow machines if that is longer.
func (c Config) APITimeout() time.Duration { return c.patience("kubernetesAPICall") }

func (c Config) patience(timeout string) time.Duration {
	wanted, err := time.ParseDuration(c.Overrides.Timeouts[timeout])
	if err != nil {
		wanted = 0
	}
	return max(wanted, 2*time.Minute)
}

// kubeletUpgraded returns nil if the API server shows this node as ready and with the new version.
// It uses the kubelet's credentials, which may read only this Node.
func (u Upgrade) kubeletUpgraded(ctx context.Context) error {
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
