package kubeadm

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/httpclient"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm/runtime"
)

// Init makes this host the first control-plane node. It holds when kubeadm
// came back fine, the kubelet is healthy, and the API server is ready and of the
// configured version.
func Init(m Machine, c Config, n Node, f runtime.Facts) step.Step {
	ready := func(ctx context.Context) error { return m.controlPlaneReady(ctx, c.Tag()) }
	return step.Step{
		Name: "kubeadm", Title: "Start the control plane (kubeadm init)", Settle: nodeSettles,
		Done: func(ctx context.Context) (bool, error) { return m.nodeHolds(ctx, ready) },
		Plan: func(context.Context) ([]string, error) { return m.planInit(c, n, f) },
		Run:  func(ctx context.Context) error { return m.init(ctx, c, n, f, nil) },
		Undo: func(ctx context.Context) error { return m.leave(ctx) },
	}
}

// init starts a new cluster, or one that was saved.
func (m Machine) init(ctx context.Context, c Config, n Node, f runtime.Facts, saved *Saved) error {
	ready := func(ctx context.Context) error { return m.controlPlaneReady(ctx, c.Tag()) }
	s, err := m.state()
	if err != nil {
		return err
	}
	if s == ended {
		return m.repair(ctx, ready)
	}
	text, err := InitDocuments(c, n, f)
	if err != nil {
		return err
	}
	err = m.begin(ctx, command{
		verb: "init",
		// kubeadm makes a bootstrap token unasked, and would write it into the log.
		args: append([]string{"--config", m.Path(ConfigFile), "--skip-token-print"}, saved.args()...),
		prepare: inOrder(
			func() error { return host.WriteFile(m.Path(ConfigFile), text, 0o600) },
			func() error { return m.noteConfigured(c, n) },
			func() error { return saved.bring(ctx, m, c, n) },
		),
	})
	if err != nil {
		return err
	}
	return m.awaitNode(ctx, time.Minute, ready)
}

// controlPlaneReady asks this host's own API server, as its administrator, for
// its health and its version: the one behind the balancer may be another.
func (m Machine) controlPlaneReady(ctx context.Context, tag string) error {
	config, err := m.RESTConfig(AdminConf)
	if err != nil {
		return err
	}
	if config.Host, err = m.OwnAPIServer(); err != nil {
		return err
	}
	config.Timeout = 10 * time.Second
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if _, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx); err != nil {
		return fmt.Errorf("ask the API server whether it is ready: %w", err)
	}
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		return fmt.Errorf("ask the API server for its version: %w", err)
	}
	if version.GitVersion != tag {
		return fmt.Errorf("the API server is %s, the configuration wants %s", version.GitVersion, tag)
	}
	return nil
}

// Client talks to the cluster as AdminConf or KubeletConf says. A request
// takes at most 10 s.
func (m Machine) Client(kubeconfig string) (kubernetes.Interface, error) {
	config, err := m.RESTConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	config.Timeout = 10 * time.Second
	return kubernetes.NewForConfig(config)
}

// RESTConfig reads one of the cluster's kubeconfig files on this host. As AdminConf says,
// requests wait until an API server that has just started knows the administrator's rights.
func (m Machine) RESTConfig(kubeconfig string) (*rest.Config, error) {
	if _, err := os.Stat(m.Path(kubeconfig)); err != nil {
		return nil, fmt.Errorf("read %s: %w", kubeconfig, err)
	}
	config, err := Kubeconfig(m.Path(kubeconfig))
	if err == nil && kubeconfig == AdminConf {
		config.Wrap(awaitRoles)
	}
	return config, err
}

// OwnAPIServer is the URL of this host's own API server, by the scheduler's kubeconfig: kubeadm
// points that to it, and others maybe to a balancer.
func (m Machine) OwnAPIServer() (string, error) {
	own, err := m.RESTConfig(schedulerConf)
	if err != nil {
		return "", err
	}
	return own.Host, nil
}

// Kubeconfig reads a kubeconfig file. A cluster in an air gap is asked
// directly: HTTPS_PROXY in the environment is for other places. A proxy-url in
// the file holds.
func Kubeconfig(path string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if config.Proxy == nil {
		config.Proxy = direct
	}
	config.Wrap(httpclient.Stay)
	return config, nil
}

// direct uses no proxy, where without it the environment would be asked.
func direct(*http.Request) (*url.URL, error) { return nil, nil }
