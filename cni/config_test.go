package cni

import (
	"reflect"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestDefaultsAreValid(t *testing.T) {
	var c Config
	c.Default()
	if want := (Config{Plugin: Flannel, Encapsulation: Auto, Port: 8472, HostPortTest: Auto}); !reflect.DeepEqual(c, want) {
		t.Errorf("defaults are %+v, want %+v", c, want)
	}
	if problems := c.Validate(field.NewPath("network")); len(problems) > 0 {
		t.Error(problems)
	}
}

func defaulted(c Config) Config {
	c.Default()
	return c
}

func TestValidate(t *testing.T) {
	for _, test := range []struct {
		name string
		c    Config
		want []string // paths
	}{
		{
			"all values invalid", Config{Plugin: "weave", Encapsulation: "ipip", Port: 70000, MTU: 100, HostPortTest: "always"},
			[]string{"network.plugin", "network.hostPortTest", "network.encapsulation", "network.port", "network.mtu"},
		},
		{"NSX's port", Config{Plugin: Flannel, Encapsulation: VXLAN, Port: 4789}, nil},
		{"jumbo frames", Config{Plugin: Flannel, Encapsulation: Auto, Port: 8472, MTU: 9000}, nil},
		{"ranges of the site", Config{Plugin: Flannel, Encapsulation: Auto, Port: 8472, SiteRanges: []string{"10.20.0.0/16", "192.168.7.0/24"}}, nil},
		{"no range", Config{Plugin: Flannel, Encapsulation: Auto, Port: 8472, SiteRanges: []string{"10.20.0.1/16", "0.0.0.0/0"}}, []string{"network.siteRanges[0]", "network.siteRanges[1]"}},
		{"no IP-in-IP", Config{Plugin: Flannel, Encapsulation: "ipip", Port: 8472}, []string{"network.encapsulation"}},
		{"flannel, native", Config{Plugin: Flannel, Encapsulation: Native, Port: 8472}, nil},
		{"a section of another plugin", Config{Plugin: Flannel, Encapsulation: Auto, Port: 8472, Calico: CalicoConfig{BGP: true}}, []string{"network.calico"}},
		{"calico", defaulted(Config{Plugin: Calico}), nil},
		{
			"calico, everything",
			defaulted(Config{Plugin: Calico, Encapsulation: Native, Calico: CalicoConfig{Version: "3.31.7", Source: "https://mirror.corp/calico", BGP: true, Dataplane: "nftables"}}),
			nil,
		},
		{"calico next to airgap.yaml", defaulted(Config{Plugin: Calico, Calico: CalicoConfig{Source: "calico"}}), nil},
		{
			"calico, all values invalid",
			defaulted(Config{Plugin: Calico, Encapsulation: "ipip", Calico: CalicoConfig{Form: "helm", Version: "latest", Source: "http://mirror.corp/calico", Dataplane: "ebpf"}}),
			[]string{"network.encapsulation", "network.calico.form", "network.calico.dataplane", "network.calico.source", "network.calico.version"},
		},
		{"calico before it supported nftables", defaulted(Config{Plugin: Calico, Calico: CalicoConfig{Version: "v3.30.1"}}), []string{"network.calico.version"}},
		{"a password in a URL", defaulted(Config{Plugin: Calico, Calico: CalicoConfig{Source: "https://u:p@mirror.corp/calico"}}), []string{"network.calico.source"}},
		{"the operator", defaulted(Config{Plugin: Calico, Calico: CalicoConfig{Form: OperatorForm, Version: "v3.31.7"}}), nil},
		{"the operator of the newest minor version", defaulted(Config{Plugin: Calico, Calico: CalicoConfig{Form: OperatorForm, Version: "v3.33.1"}}), nil},
		{"an operator with unknown images", defaulted(Config{Plugin: Calico, Calico: CalicoConfig{Form: OperatorForm, Version: "v3.40.1"}}), []string{"network.calico.version"}},
		{"cilium", defaulted(Config{Plugin: Cilium}), nil},
		{"cilium, everything", defaulted(Config{Plugin: Cilium, Encapsulation: Native, MTU: 9000, Cilium: CiliumConfig{Version: "1.19.5", Source: "oci://mirror.corp/charts"}}), nil},
		{
			"cilium, all values invalid",
			defaulted(Config{Plugin: Cilium, Encapsulation: CrossSubnet, Cilium: CiliumConfig{Version: "1.17.1", Source: "http://mirror.corp"}, Calico: CalicoConfig{BGP: true}}),
			[]string{"network.encapsulation", "network.cilium.version", "network.cilium.source", "network.calico"},
		},
		{"native without BGP", defaulted(Config{Plugin: Calico, Encapsulation: Native}), []string{"network.encapsulation"}},
		{"negative", Config{Plugin: Flannel, Encapsulation: Auto, Port: -1, MTU: -1}, []string{"network.port", "network.mtu"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, problem := range test.c.Validate(field.NewPath("network")) {
				got = append(got, problem.Field)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("problems at %v, want %v", got, test.want)
			}
		})
	}
}

// TestRoutes checks that flannel and Cilium support routes without other settings, and that Calico needs
// BGP.
func TestRoutes(t *testing.T) {
	for _, test := range []struct {
		config Config
		want   bool
	}{
		{Config{Plugin: Flannel}, true},
		{Config{Plugin: Cilium}, true},
		{Config{Plugin: Calico}, false},
		{Config{Plugin: Calico, Calico: CalicoConfig{BGP: true}}, true},
	} {
		if got := defaulted(test.config).Routes(); got != test.want {
			t.Errorf("%+v: %v", test.config, got)
		}
	}
}
