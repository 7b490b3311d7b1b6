package kubeadm

import (
	"net"
	"strings"

	"airgap.dev/airgap/kubeadm/encryption"
	"airgap.dev/airgap/kubeadm/release"
)

// Config is the section kubernetes: of airgap.yaml.
type Config struct {
	Version              string         `yaml:"version" json:"version" jsonschema:"example=1.36.3" jsonschema_description:"Kubernetes version to install, with the patch version. Minor versions: 1.35, 1.36 or 1.37."`
	ControlPlaneEndpoint string         `yaml:"controlPlaneEndpoint,omitempty" json:"controlPlaneEndpoint,omitempty" jsonschema:"example=k8s.bank.example:6443" jsonschema_description:"HOST:PORT at which every node reaches the API server: a load balancer or virtual IP. Required with several control-plane nodes, and then not the address of a node. Default: port 6443 of the only control-plane node."`
	PodSubnet            string         `yaml:"podSubnet,omitempty" json:"podSubnet,omitempty" jsonschema:"default=10.244.0.0/16" jsonschema_description:"IPv4 network of the pods. Each node gets a /24 of it."`
	ServiceSubnet        string         `yaml:"serviceSubnet,omitempty" json:"serviceSubnet,omitempty" jsonschema:"default=10.96.0.0/16" jsonschema_description:"IPv4 network of the Services."`
	DNS                  string         `yaml:"dns,omitempty" json:"dns,omitempty" jsonschema:"enum=site,enum=none,default=site" jsonschema_description:"Where CoreDNS forwards names outside the cluster. site: to the name servers in /etc/resolv.conf of its node. none: nowhere, for sites without a name server."`
	EncryptionAtRest     string         `yaml:"encryptionAtRest,omitempty" json:"encryptionAtRest,omitempty" jsonschema:"enum=secretbox,enum=aescbc,enum=none,default=secretbox" jsonschema_description:"Encryption of Secrets in etcd: secretbox, aescbc (for sites that allow only FIPS-approved algorithms), or none. airgap encryption rotate changes the key."`
	Audit                Audit          `yaml:"audit,omitempty" json:"audit" jsonschema_description:"Audit log of the API server, in /var/log/kubernetes/audit on every control-plane host."`
	Authentication       Authentication `yaml:"authentication,omitempty" json:"authentication" jsonschema_description:"Ways to authenticate at the API server, in addition to client certificates and service accounts."`
	Etcd                 EtcdTimes      `yaml:"etcd,omitempty" json:"etcd" jsonschema_description:"Times of etcd for long distances between the control-plane hosts. Without this section, airgap install sets both if the measured round trip requires it."`
	Overrides            Overrides      `yaml:"overrides,omitempty" json:"overrides" jsonschema_description:"Fields merged last into the generated configuration. airgap refuses fields that this Kubernetes version does not read, and fields that make the cluster insecure or break it."`
	// IgnorePreflightErrors are checks of kubeadm, not of airgap.
	IgnorePreflightErrors []string `yaml:"ignorePreflightErrors,omitempty" json:"ignorePreflightErrors,omitempty" jsonschema:"example=SystemVerification" jsonschema_description:"Names of kubeadm's preflight checks. Their errors become warnings."`
}

// Overrides are merged into the configuration that airgap generates: maps key by key, while
// other values are replaced.
type Overrides struct {
	Kubelet              map[string]any    `yaml:"kubelet,omitempty" json:"kubelet,omitempty" jsonschema_description:"Fields of KubeletConfiguration (kubelet.config.k8s.io/v1beta1). Without kubeReserved and systemReserved, each new node reserves 280 MiB and 5 % of its memory, and 80 millicores and 1 % of its CPUs, for the kubelet, the runtime and the system. kubeReserved: {} reserves nothing."`
	KubeProxy            map[string]any    `yaml:"kubeProxy,omitempty" json:"kubeProxy,omitempty" jsonschema_description:"Fields of KubeProxyConfiguration (kubeproxy.config.k8s.io/v1alpha1)."`
	ClusterConfiguration map[string]any    `yaml:"clusterConfiguration,omitempty" json:"clusterConfiguration,omitempty" jsonschema_description:"Fields of kubeadm's ClusterConfiguration (v1beta4). airgap refuses feature gates that this kubeadm version has removed."`
	Timeouts             map[string]string `yaml:"timeouts,omitempty" json:"timeouts,omitempty" jsonschema_description:"kubeadm's timeouts for slow machines, for example kubeletHealthCheck: 10m."`
}

// NoProxyHosts returns the networks of the cluster and the host of its endpoint. Traffic to them must
// not use a proxy.
func (c Config) NoProxyHosts() []string {
	within := []string{c.PodSubnet, c.ServiceSubnet}
	if endpoint, _, err := net.SplitHostPort(c.ControlPlaneEndpoint); err == nil {
		within = append(within, endpoint)
	}
	return within
}

// Default sets empty fields. firstControlPlane is the address of the first control-plane node;
// "" if it is not known yet.
func (c *Config) Default(firstControlPlane string) {
	c.Version = strings.TrimPrefix(c.Version, "v")
	if c.PodSubnet == "" {
		c.PodSubnet = "10.244.0.0/16"
	}
	if c.ServiceSubnet == "" {
		c.ServiceSubnet = "10.96.0.0/16"
	}
	if c.DNS == "" {
		c.DNS = SiteDNS
	}
	if c.EncryptionAtRest == "" {
		c.EncryptionAtRest = encryption.Secretbox
	}
	c.Audit.Default()
	c.Etcd.Default()
	if c.ControlPlaneEndpoint == "" && firstControlPlane != "" {
		c.ControlPlaneEndpoint = net.JoinHostPort(firstControlPlane, "6443")
	}
}

// Tag is the version in the form of image tags and of the API server: v1.36.3.
func (c Config) Tag() string { return release.Tag(c.Version) }
