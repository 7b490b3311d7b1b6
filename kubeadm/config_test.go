package kubeadm

import (
	"testing"

	"gopkg.in/yaml.v3"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/kubeadm/runtime"
)

func TestDefaults(t *testing.T) {
	c := Config{Version: "v1.36.3"}
	c.Default("192.0.2.11")
	if c.Version != "1.36.3" || c.Tag() != "v1.36.3" || c.ControlPlaneEndpoint != "192.0.2.11:6443" {
		t.Errorf("got %+v", c)
	}
	if errs := c.Validate(field.NewPath("kubernetes")); len(errs) > 0 {
		t.Errorf("defaults do not validate: %v", errs)
	}
	var r runtime.Config
	r.Default("1.36.3")
	if errs := r.Validate(field.NewPath("runtime")); len(errs) > 0 {
		t.Errorf("defaults do not validate: %v", errs)
	}
}

func TestValidate(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want []string // one per expected error, in order
	}{
		"fine":               {`{version: v1.37.0, controlPlaneEndpoint: "k8s.bank.example:6443"}`, nil},
		"no patch":           {`{version: "1.36"}`, []string{"kubernetes.version: Invalid value: \"1.36\": expected a version with its patch"}},
		"too old":            {`{version: 1.34.1}`, []string{"version 1.34 is not supported"}},
		"all at once":        {`{version: x, podSubnet: y, controlPlaneEndpoint: z}`, []string{"kubernetes.version", "kubernetes.controlPlaneEndpoint", "kubernetes.podSubnet"}},
		"overlap":            {`{version: 1.36.3, podSubnet: 10.96.0.0/12}`, []string{"overlaps podSubnet 10.96.0.0/12"}},
		"host bits":          {`{version: 1.36.3, podSubnet: 10.244.1.0/16}`, []string{"the network is 10.244.0.0/16"}},
		"ipv6":               {`{version: 1.36.3, podSubnet: "fd00::/48"}`, []string{"IPv6 is not supported yet"}},
		"pods too small":     {`{version: 1.36.3, podSubnet: 10.1.0.0/25}`, []string{"between 8 and 24"}},
		"services too large": {`{version: 1.36.3, serviceSubnet: 10.0.0.0/11}`, []string{"between 12 and 28"}},
		"endpoint port":      {`{version: 1.36.3, controlPlaneEndpoint: "vip:70000"}`, []string{"not between 1 and 65535"}},
		"endpoint name":      {`{version: 1.36.3, controlPlaneEndpoint: "VIP_1:6443"}`, []string{"neither an address nor a DNS name"}},
		"dns":                {`{version: 1.36.3, dns: 8.8.8.8}`, []string{"kubernetes.dns: Unsupported value"}},
		"driver":             {`{version: 1.36.3, overrides: {kubelet: {cgroupDriver: cgroupfs}}}`, []string{"kubernetes.overrides.kubelet.cgroupDriver: Forbidden"}},
		"derived": {`{version: 1.36.3, overrides: {clusterConfiguration: {imageRepository: r, networking: {podSubnet: 10.0.0.0/8}}}}`,
			[]string{"clusterConfiguration.imageRepository: Forbidden", "clusterConfiguration.networking.podSubnet: Forbidden"}},
		"gates that are still there": {`{version: 1.35.8, overrides: {clusterConfiguration: {featureGates: {ControlPlaneKubeletLocalMode: true, RootlessControlPlane: false}}}}`, nil},
		"gates that are gone": {`{version: 1.37.2, overrides: {clusterConfiguration: {featureGates: {ControlPlaneKubeletLocalMode: true, RootlessControlPlane: true, PublicKeysECDSA: true}}}}`,
			[]string{"clusterConfiguration.featureGates.ControlPlaneKubeletLocalMode: Forbidden: kubeadm 1.37 does not know it, only RootlessControlPlane: leave it out",
				"clusterConfiguration.featureGates.PublicKeysECDSA: Forbidden"}},
		"a gate of the kubelet's": {`{version: 1.36.3, overrides: {clusterConfiguration: {featureGates: {UserNamespacesSupport: true}}}}`,
			[]string{"clusterConfiguration.featureGates.UserNamespacesSupport: Forbidden: kubeadm 1.36 does not know it, only NodeLocalCRISocket, "}},
		"timeouts": {`{version: 1.36.3, overrides: {timeouts: {kubletHealthCheck: 1m, discovery: soon}}}`,
			[]string{"overrides.timeouts", "overrides.timeouts"}},
	} {
		t.Run(name, func(t *testing.T) {
			var c Config
			if err := yaml.Unmarshal([]byte(tc.text), &c); err != nil {
				t.Fatal(err)
			}
			c.Default("192.0.2.11")
			hosttest.Compare(t, c.Validate(field.NewPath("kubernetes")), tc.want)
		})
	}
}
