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

// Node is the host as the cluster knows it.
type Node struct {
	Name    string // DNS-1123 label: the Node object's name
	Address string // the address other nodes reach it at
	// Workloads says that a control-plane node takes ordinary pods as well,
	// and gets no taint; workers always do.
	Workloads    bool
	ControlPlane bool // it is to run a part of the control plane
	Runtime      runtime.Config
}

// object is a document of kubeadm's configuration. kubeadm's own types are
// not importable, and overrides have to be merged in any case.
type object = map[string]any

const kubeadmAPI = "kubeadm.k8s.io/v1beta4"

// InitDocuments are what `kubeadm init --config` reads: how this node starts
// the cluster, the cluster, and the defaults of kubelet and kube-proxy.
func InitDocuments(c Config, n Node, f runtime.Facts) ([]byte, error) {
	return documents(
		initConfiguration(c, n),
		cluster(c, n),
		kubelet(c, f),
		proxy(c, f),
	)
}

// proxy is what every kube-proxy of the cluster reads.
func proxy(c Config, f runtime.Facts) object {
	return overlay.Merge(object{
		"apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration",
		"mode": f.ProxyMode(),
	}, c.Overrides.KubeProxy)
}

// cluster is what the control plane is made from.
func cluster(c Config, n Node) object {
	base := overlay.Merge(clusterConfiguration(c, n), baseline(c))
	return joinLists(overlay.Merge(base, c.Overrides.ClusterConfiguration), base)
}

// kubelet is what every kubelet of the cluster reads.
func kubelet(c Config, f runtime.Facts) object {
	return overlay.Merge(overlay.Merge(kubeletConfiguration(c, f), baselineKubelet(c)), c.Overrides.Kubelet)
}

func kubeletConfiguration(c Config, f runtime.Facts) object {
	o := object{
		"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
		"cgroupDriver": string(f.Driver),
		// A pull that waits for a dead registry must not hold up all others.
		"serializeImagePulls": false, "maxParallelImagePulls": 10,
	}
	if c.DNS == NoDNS {
		o["resolvConf"] = "" // the kubelet starts no pod where the file is missing
	}
	return o
}

func initConfiguration(c Config, n Node) object {
	return withTimeouts(c, object{
		"apiVersion": kubeadmAPI, "kind": "InitConfiguration",
		"localAPIEndpoint": localAPIEndpoint(n),
		"nodeRegistration": nodeRegistration(c, n),
		// kubeadm makes a bootstrap token unasked: this one is over before
		// anybody can use it. Codes for joining come from IssueCode.
		"bootstrapTokens": []any{object{"ttl": "1s"}},
		"skipPhases":      []any{"show-join-command"},
	})
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

// certSANs are the names under which clients may come: kubeadm adds its own.
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

// joinConfiguration has kubeadm join as the node whose certificate is in the
// kubeconfig file.
func joinConfiguration(c Config, n Node, kubeconfig string) object {
	o := withTimeouts(c, object{
		"apiVersion": kubeadmAPI, "kind": "JoinConfiguration",
		"nodeRegistration": nodeRegistration(c, n),
		"discovery":        object{"file": object{"kubeConfigPath": kubeconfig}},
	})
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
