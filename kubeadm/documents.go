package kubeadm

import (
	"bytes"
	"fmt"
	"net"
	"slices"

	"sigs.k8s.io/yaml"

	"airgap.dev/airgap/internal/overlay"
	"airgap.dev/airgap/kubeadm/runtime"
)

// Node is the host as a node of the cluster.
type Node struct {
	Name    string // DNS-1123 label: the Node object's name
	Address string // IP address at which other nodes reach it
	// Workloads lets a control-plane node run ordinary pods: it gets no taint. Workers always
	// run them.
	Workloads    bool
	ControlPlane bool // the node runs a part of the control plane
	Runtime      runtime.Config
	Patches      string // directory with kubeadm's patches for this host; "" for none
}

// object is a document of kubeadm's configuration. kubeadm's types cannot be imported, and
// overrides are merged as maps in any case.
type object = map[string]any

const kubeadmAPI = "kubeadm.k8s.io/v1beta4"

// InitDocuments returns the documents for `kubeadm init --config`: InitConfiguration,
// ClusterConfiguration, KubeletConfiguration and KubeProxyConfiguration.
func InitDocuments(c Config, n Node, f runtime.Facts) ([]byte, error) {
	return documents(
		initConfiguration(c, n),
		cluster(c, n),
		kubelet(c, f),
		proxy(c, f),
	)
}

// proxy is the KubeProxyConfiguration of the cluster.
func proxy(c Config, f runtime.Facts) object {
	return overlay.Merge(object{
		"apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration",
		"mode": f.ProxyMode(),
	}, c.Overrides.KubeProxy)
}

// cluster is the ClusterConfiguration, with the baseline and the site's overrides.
func cluster(c Config, n Node) object {
	base := overlay.Merge(clusterConfiguration(c, n), baseline(c))
	return joinLists(overlay.Merge(base, c.Overrides.ClusterConfiguration), base)
}

// kubelet is the KubeletConfiguration of the cluster.
func kubelet(c Config, f runtime.Facts) object {
	return overlay.Merge(overlay.Merge(kubeletConfiguration(c, f), baselineKubelet(c)), c.Overrides.Kubelet)
}

func kubeletConfiguration(c Config, f runtime.Facts) object {
	o := object{
		"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
		"cgroupDriver": string(f.Driver),
		// A pull that waits for a dead registry must not block all other pulls.
		"serializeImagePulls": false, "maxParallelImagePulls": 10,
	}
	if c.DNS == NoDNS {
		o["resolvConf"] = "" // the kubelet starts no pod if the file is missing
	}
	return o
}

func initConfiguration(c Config, n Node) object {
	return withTimeouts(c, withPatches(object{
		"apiVersion": kubeadmAPI, "kind": "InitConfiguration",
		"localAPIEndpoint": localAPIEndpoint(n),
		"nodeRegistration": nodeRegistration(c, n),
		// kubeadm always creates a bootstrap token. This one expires before it can be used;
		// Issue creates the join tokens.
		"bootstrapTokens": []any{object{"ttl": "1s"}},
		"skipPhases":      []any{"show-join-command"},
	}, n))
}

func clusterConfiguration(c Config, n Node) object {
	return object{
		"apiVersion": kubeadmAPI, "kind": "ClusterConfiguration",
		"kubernetesVersion":    c.Tag(),
		"imageRepository":      "registry.k8s.io",
		"controlPlaneEndpoint": c.ControlPlaneEndpoint,
		"networking":           object{"podSubnet": c.PodSubnet, "serviceSubnet": c.ServiceSubnet},
		"apiServer":            object{"certSANs": certSANs(c, n)},
	}
}

// certSANs are the names of the API server for clients. kubeadm adds its own.
func certSANs(c Config, n Node) []any {
	names := []string{n.Name, n.Address, "localhost", "127.0.0.1"}
	if endpoint, _, err := net.SplitHostPort(c.ControlPlaneEndpoint); err == nil {
		names = append(names, endpoint)
	}
	slices.Sort(names)
	var sans []any
	for _, name := range slices.Compact(names) {
		sans = append(sans, name)
	}
	return sans
}

// joinConfiguration lets kubeadm join with the node certificate in the kubeconfig file.
func joinConfiguration(c Config, n Node, kubeconfig string) object {
	o := withTimeouts(c, withPatches(object{
		"apiVersion": kubeadmAPI, "kind": "JoinConfiguration",
		"nodeRegistration": nodeRegistration(c, n),
		"discovery":        object{"file": object{"kubeConfigPath": kubeconfig}},
	}, n))
	if n.ControlPlane {
		o["controlPlane"] = object{"localAPIEndpoint": localAPIEndpoint(n)}
	}
	return o
}

func localAPIEndpoint(n Node) object {
	return object{"advertiseAddress": n.Address, "bindPort": 6443}
}

func nodeRegistration(c Config, n Node) object {
	registration := object{
		"name":             n.Name,
		"criSocket":        n.Runtime.Endpoint(),
		"imagePullPolicy":  "IfNotPresent",
		"kubeletExtraArgs": []any{object{"name": "node-ip", "value": n.Address}},
	}
	if n.ControlPlane && n.Workloads {
		registration["taints"] = []any{}
	}
	if len(c.IgnorePreflightErrors) > 0 {
		registration["ignorePreflightErrors"] = c.IgnorePreflightErrors
	}
	return registration
}

func withTimeouts(c Config, o object) object {
	if len(c.Overrides.Timeouts) > 0 {
		o["timeouts"] = c.Overrides.Timeouts
	}
	return o
}

func documents(objects ...object) ([]byte, error) {
	var all bytes.Buffer
	for _, o := range objects {
		text, err := yaml.Marshal(o)
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", o["kind"], err)
		}
		if all.Len() > 0 {
			all.WriteString("---\n")
		}
		all.Write(text)
	}
	return all.Bytes(), nil
}
