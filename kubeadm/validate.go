package kubeadm

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/kubeadm/encryption"
	"airgap.dev/airgap/kubeadm/release"
)

// Validate returns all errors of a section after Default.
func (c Config) Validate(at *field.Path) field.ErrorList {
	errs := c.ValidateStored(at)
	errs = append(errs, c.strict(at)...)
	errs = append(errs, c.Authentication.validate(at.Child("authentication"))...)
	errs = append(errs, c.Audit.refuse(at.Child("audit", "policy", "rules"))...)
	return append(errs, c.refuse(at.Child("overrides"))...)
}

// ValidateStored is Validate for a section of a bundle that is already on this host: an older
// airgap accepted overrides that Validate refuses.
func (c Config) ValidateStored(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if _, err := release.Of(c.Version); err != nil {
		errs = append(errs, field.Invalid(at.Child("version"), c.Version, err.Error()))
	}
	if c.ControlPlaneEndpoint != "" {
		if err := checkEndpoint(c.ControlPlaneEndpoint); err != nil {
			errs = append(errs, field.Invalid(at.Child("controlPlaneEndpoint"), c.ControlPlaneEndpoint, err.Error()))
		}
	}
	if c.DNS != SiteDNS && c.DNS != NoDNS {
		errs = append(errs, field.NotSupported(at.Child("dns"), c.DNS, []string{SiteDNS, NoDNS}))
	}
	if providers := []string{encryption.Secretbox, encryption.AESCBC, encryption.NoEncryption}; !slices.Contains(providers, c.EncryptionAtRest) {
		errs = append(errs, field.NotSupported(at.Child("encryptionAtRest"), c.EncryptionAtRest, providers))
	}
	errs = append(errs, c.Audit.validate(at.Child("audit"))...)
	errs = append(errs, c.validateSubnets(at)...)
	errs = append(errs, c.validateEtcd(at.Child("etcd"))...)
	errs = append(errs, c.validateGates(at.Child("overrides", "clusterConfiguration", "featureGates"))...)
	return append(errs, c.Overrides.validate(at.Child("overrides"))...)
}

// The limits are kubeadm's: a node uses a /24 of the pod network, and the allocator of Service
// addresses supports at most 2^20 addresses.
func (c Config) validateSubnets(at *field.Path) field.ErrorList {
	pods, errs := subnet(at.Child("podSubnet"), c.PodSubnet, 8, 24)
	services, more := subnet(at.Child("serviceSubnet"), c.ServiceSubnet, 12, 28)
	errs = append(errs, more...)
	if len(errs) == 0 && pods.Overlaps(services) {
		errs = append(errs, field.Invalid(at.Child("serviceSubnet"), c.ServiceSubnet, "overlaps podSubnet "+c.PodSubnet))
	}
	return errs
}

func subnet(at *field.Path, text string, minBits, maxBits int) (netip.Prefix, field.ErrorList) {
	p, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return p, field.ErrorList{field.Invalid(at, text, "expected a network such as 10.244.0.0/16")}
	case !p.Addr().Is4():
		return p, field.ErrorList{field.Invalid(at, text, "expected an IPv4 network; IPv6 is not supported yet")}
	case p != p.Masked():
		return p, field.ErrorList{field.Invalid(at, text, "has host bits set; the network is "+p.Masked().String())}
	case p.Bits() < minBits || p.Bits() > maxBits:
		return p, field.ErrorList{field.Invalid(at, text, fmt.Sprintf("expected a prefix length between %d and %d", minBits, maxBits))}
	}
	return p, nil
}

func checkEndpoint(text string) error {
	name, port, err := net.SplitHostPort(text)
	if err != nil {
		return fmt.Errorf("expected HOST:PORT such as k8s.bank.example:6443")
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return fmt.Errorf("port %q is not between 1 and 65535", port)
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return nil
	}
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return fmt.Errorf("%q is neither an address nor a DNS name", name)
	}
	return nil
}

// validateGates forbids feature gates that this version of kubeadm does not know or has removed:
// kubeadm would fail only after the installation of the packages.
func (c Config) validateGates(at *field.Path) field.ErrorList {
	set, _ := c.Overrides.ClusterConfiguration["featureGates"].(map[string]any)
	own, err := release.Of(c.Version)
	if err != nil {
		return nil // Validate reports it
	}
	var errs field.ErrorList
	for _, gate := range slices.Sorted(maps.Keys(set)) {
		if !slices.Contains(own.Gates, gate) {
			errs = append(errs, field.Forbidden(at.Child(gate), fmt.Sprintf("kubeadm %s does not know it, only %s: leave it out, or set it for its component (kubelet.featureGates, extraArgs)", own.Minor, strings.Join(own.Gates, ", "))))
		}
	}
	return errs
}

// validate forbids fields that airgap derives from other settings: with two sources for one
// setting the cluster could differ from the bundle.
func (o Overrides) validate(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	forbid := func(in string, m map[string]any, key, why string) {
		if _, ok := m[key]; ok {
			errs = append(errs, field.Forbidden(at.Child(in, key), why))
		}
	}
	for _, key := range []string{"apiVersion", "kind"} {
		forbid("kubelet", o.Kubelet, key, "airgap writes it")
		forbid("kubeProxy", o.KubeProxy, key, "airgap writes it")
		forbid("clusterConfiguration", o.ClusterConfiguration, key, "airgap writes it")
	}
	forbid("kubelet", o.Kubelet, "cgroupDriver", "airgap reads it from the host, for the kubelet and the runtime")
	forbid("clusterConfiguration", o.ClusterConfiguration, "kubernetesVersion", "use kubernetes.version")
	forbid("clusterConfiguration", o.ClusterConfiguration, "controlPlaneEndpoint", "use kubernetes.controlPlaneEndpoint")
	forbid("clusterConfiguration", o.ClusterConfiguration, "imageRepository", "images keep their upstream names; use sources.rewrite")
	if networking, ok := o.ClusterConfiguration["networking"].(map[string]any); ok {
		forbid("clusterConfiguration.networking", networking, "podSubnet", "use kubernetes.podSubnet")
		forbid("clusterConfiguration.networking", networking, "serviceSubnet", "use kubernetes.serviceSubnet")
	}
	return append(errs, o.validateTimeouts(at.Child("timeouts"))...)
}

func (o Overrides) validateTimeouts(at *field.Path) field.ErrorList {
	known := []string{"controlPlaneComponentHealthCheck", "discovery", "etcdAPICall", "kubeletHealthCheck", "kubernetesAPICall", "tlsBootstrap", "upgradeManifests"}
	var errs field.ErrorList
	for name, value := range o.Timeouts {
		if !slices.Contains(known, name) {
			errs = append(errs, field.NotSupported(at, name, known))
		}
		if d, err := time.ParseDuration(value); err != nil || d <= 0 {
			errs = append(errs, field.Invalid(at.Child(name), value, "expected a duration such as 10m"))
		}
	}
	return errs
}
