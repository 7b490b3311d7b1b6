package kube

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/httpclient"
	"airgap.dev/airgap/manifests"
)

// Client talks to the cluster as AdminConf or KubeletConf says. A request
// takes at most 10 s.
func Client(m host.Machine, kubeconfig string) (kubernetes.Interface, error) {
	return clientOf(m, kubeconfig, 0)
}

// BusyClient is Client for work on many nodes at the same time: a drain asks for each pod each second, and the usual
// limit of a client is 5 requests per second.
func BusyClient(m host.Machine, kubeconfig string) (kubernetes.Interface, error) {
	return clientOf(m, kubeconfig, busyRate)
}

const busyRate = 100 // requests per second

func clientOf(m host.Machine, kubeconfig string, rate int) (kubernetes.Interface, error) {
	config, err := RESTConfig(m, kubeconfig)
	if err != nil {
		return nil, err
	}
	config.Timeout = 10 * time.Second
	if rate > 0 {
		config.QPS, config.Burst = float32(rate), 2*rate
	}
	return kubernetes.NewForConfig(config)
}

// RESTConfig reads one of the cluster's kubeconfig files on this host. As AdminConf says,
// requests wait until an API server that has just started knows the administrator's rights.
func RESTConfig(m host.Machine, kubeconfig string) (*rest.Config, error) {
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
func OwnAPIServer(m host.Machine) (string, error) {
	own, err := RESTConfig(m, SchedulerConf)
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
		config.Proxy = Direct
	}
	config.Wrap(CloseIdle)
	config.Wrap(httpclient.Stay)
	return config, nil
}

// Direct uses no proxy, where without it the environment would be asked.
func Direct(*http.Request) (*url.URL, error) { return nil, nil }

// CreateOptions are options that name airgap as the manager of the fields that it sets.
func CreateOptions() metav1.CreateOptions {
	return metav1.CreateOptions{FieldManager: manifests.FieldManager}
}

// The files of a node by which programs reach the API server, before Machine.Root.
const (
	AdminConf             = "/etc/kubernetes/admin.conf"
	KubeletConf           = "/etc/kubernetes/kubelet.conf"
	SchedulerConf         = "/etc/kubernetes/scheduler.conf"
	SuperAdminConf        = "/etc/kubernetes/super-admin.conf"
	ControllerManagerConf = "/etc/kubernetes/controller-manager.conf"
	ClusterCA             = "/etc/kubernetes/pki/ca.crt"
)

// NodeReady reports whether the cluster takes the node for ready.
func NodeReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// ControlPlaneLabel is on the nodes of the control plane.
const ControlPlaneLabel = "node-role.kubernetes.io/control-plane"
