package cni

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestDefaultsAreValid(t *testing.T) {
	var c Config
	c.Default()
	if want := (Config{Plugin: Flannel, Encapsulation: Auto, Port: 8472}); c != want {
		t.Errorf("defaults are %+v, want %+v", c, want)
	}
	if problems := c.Validate(field.NewPath("network")); len(problems) > 0 {
		t.Error(problems)
	}
}

func TestValidate(t *testing.T) {
	for _, test := range []struct {
		name string
		c    Config
		want []string // paths
	}{
		{"all of it", Config{Plugin: "weave", Encapsulation: "ipip", Port: 70000, MTU: 100}, []string{"network.plugin", "network.encapsulation", "network.port", "network.mtu"}},
		{"NSX's port", Config{Plugin: Flannel, Encapsulation: VXLAN, Port: 4789}, nil},
		{"jumbo frames", Config{Plugin: Flannel, Encapsulation: Auto, Port: 8472, MTU: 9000}, nil},
		{"no IP-in-IP", Config{Plugin: Flannel, Encapsulation: "ipip", Port: 8472}, []string{"network.encapsulation"}},
		{"native needs a probe nobody makes yet", Config{Plugin: Flannel, Encapsulation: "native", Port: 8472}, []string{"network.encapsulation"}},
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
