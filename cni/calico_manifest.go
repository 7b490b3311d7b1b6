package cni

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/reference"
)

// calicoManifest patches the plain manifest. At its first start Calico creates its IP pool from variables
// of its DaemonSet.
func calicoManifest(p *patched, c Config, k Cluster, plane string) {
	backend, clusterType := "vxlan", "k8s"
	if c.Calico.BGP {
		backend, clusterType = "bird", "k8s,bgp"
	}
	settings := p.one("ConfigMap", "kube-system", "calico-config")
	p.set(settings, backend, "data", "calico_backend")
	p.set(settings, strconv.Itoa(c.podMTU()), "data", "veth_mtu")

	daemon := p.one("DaemonSet", "kube-system", "calico-node")
	p.fail(checkCalicoManifest(reference.TagOf(p.imageOf("DaemonSet", "kube-system", "calico-node", "calico-node")), c.Calico.Version))
	node := p.container(daemon, "calico-node")
	node.setEnv("CALICO_IPV4POOL_IPIP", "Never")
	node.setEnv("CALICO_IPV4POOL_VXLAN", vxlanMode(c))
	node.setEnv("CLUSTER_TYPE", clusterType)
	node.setEnv("IP", "autodetect")
	// The address that the kubelet has registered, not the address of the first link.
	node.putEnv("IP_AUTODETECTION_METHOD", "kubernetes-internal-ip")
	node.putEnv("CALICO_IPV4POOL_CIDR", k.PodSubnet)
	node.dropEnv("FELIX_IPINIPMTU") // the MTU of a tunnel that does not exist
	if !c.Calico.BGP {
		// BIRD does not run, so its probes would always fail. Up to 3.32 the flags have one dash.
		node.dropProbeArgument("livenessProbe", "-bird-live", "--bird-live")
		node.dropProbeArgument("readinessProbe", "-bird-ready", "--bird-ready")
	}

	// The installer writes its file through the volume, and CNI_NET_DIR is the path of its kubeconfig
	// on the host, which it writes into that file.
	p.hostPath(daemon, host.SharedCNIDir, host.CNIDir)
	installer := p.initContainer(daemon, "install-cni")
	installer.putEnv("CNI_NET_DIR", host.CNIDir)

	felix := felixSettings(c, plane)
	// Pods read variables from the ConfigMap only at their start.
	p.annotate(daemon, "airgap.dev/configuration", checksum(backend, strconv.Itoa(c.podMTU())))
	felix["ipipEnabled"] = false
	p.beforeWorkloads(p.resource(p.kind("FelixConfiguration"), felix))
}

// checkCalicoManifest checks the version of the manifest. said is the version in airgap.yaml, "" if the
// directory determines it.
func checkCalicoManifest(tag, said string) error {
	if err := checkCalico("calico.yaml", tag); err != nil || said == "" {
		return err
	}
	return sameCalico("calico.yaml", tag, said)
}

// vxlanMode returns the VXLAN mode of Calico's IPPool.
func vxlanMode(c Config) string {
	switch c.Encapsulation {
	case CrossSubnet:
		return "CrossSubnet"
	case Native:
		return "Never"
	default:
		return "Always"
	}
}

// checksum returns a short checksum of values that pods read only at their start.
func checksum(parts ...any) string {
	text, err := json.Marshal(parts)
	if err != nil {
		text = fmt.Append(nil, parts...)
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))[:16]
}
