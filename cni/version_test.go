package cni_test

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/cni/cnitest"
)

// tagged sets another tag on each image of a project.
func tagged(objects []*unstructured.Unstructured, repository, tag string) []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, o := range objects {
		o = o.DeepCopy()
		for _, key := range []string{"containers", "initContainers"} {
			list, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", key)
			for _, item := range list {
				c := item.(map[string]any)
				if image := c["image"].(string); strings.HasPrefix(image, repository) {
					c["image"] = image[:strings.LastIndexByte(image, ':')] + ":" + tag
				}
			}
			if len(list) > 0 {
				_ = unstructured.SetNestedSlice(o.Object, list, "spec", "template", "spec", key)
			}
		}
		all = append(all, o)
	}
	return all
}

// TestVersionsOfASource checks the version limits and the version in airgap.yaml for a directory and for a
// chart.
func TestVersionsOfASource(t *testing.T) {
	upstream := cnitest.Serve(t)
	for name, tc := range map[string]struct {
		config     cni.Config
		repository string
		tag        string
		says       string // "" is no error
	}{
		"calico before 3.31": {
			cni.Config{Plugin: cni.Calico, Calico: cni.CalicoConfig{Source: "vendor"}},
			"quay.io/calico/",
			"v3.29.3",
			"calico.yaml has Calico v3.29.3, expected 3.31 or later",
		},
		"calico, version of the directory": {cni.Config{Plugin: cni.Calico, Calico: cni.CalicoConfig{Source: "vendor"}}, "quay.io/calico/", "v3.31.7", ""},
		"calico, as said":                  {cni.Config{Plugin: cni.Calico, Calico: cni.CalicoConfig{Source: "vendor", Version: "3.31.7"}}, "quay.io/calico/", "v3.31.7", ""},
		"calico, a tag of the site":        {cni.Config{Plugin: cni.Calico, Calico: cni.CalicoConfig{Source: "vendor", Version: "3.31.7"}}, "quay.io/calico/", "v3.31.7-bank.2", ""},
		"calico, no version as a tag":      {cni.Config{Plugin: cni.Calico, Calico: cni.CalicoConfig{Source: "vendor"}}, "quay.io/calico/", "master", ""},
		"calico, another version than in airgap.yaml": {
			cni.Config{Plugin: cni.Calico, Calico: cni.CalicoConfig{Source: "vendor", Version: "3.32.4"}},
			"quay.io/calico/",
			"v3.31.7",
			"set network.calico.version to v3.31.7",
		},
		"operator of another minor version": {
			cni.Config{Plugin: cni.Calico, Calico: cni.CalicoConfig{Form: cni.OperatorForm, Source: "vendor"}},
			"quay.io/tigera/",
			"v1.40.3",
			"tigera-operator.yaml, with operator v1.40.3, has Calico 3.31, expected v3.32.4",
		},
		"operator of an unknown version": {
			cni.Config{Plugin: cni.Calico, Calico: cni.CalicoConfig{Form: cni.OperatorForm, Source: "vendor", Version: "v3.32.4"}},
			"quay.io/tigera/",
			"v1.36.0",
			"has an unknown Calico",
		},
		"operator of the same minor version": {cni.Config{Plugin: cni.Calico, Calico: cni.CalicoConfig{Form: cni.OperatorForm, Source: "vendor"}}, "quay.io/tigera/", "v1.42.0", ""},
		"cilium before 1.18": {
			cni.Config{Plugin: cni.Cilium, Cilium: cni.CiliumConfig{Source: "vendor"}},
			"quay.io/cilium/",
			"v1.17.9",
			"the chart has Cilium v1.17.9, expected a release from 1.18 on",
		},
		"a pre-release of cilium":          {cni.Config{Plugin: cni.Cilium, Cilium: cni.CiliumConfig{Source: "vendor"}}, "quay.io/cilium/", "v1.21.0-pre.1", "the chart has Cilium v1.21.0-pre.1"},
		"cilium of the next minor version": {cni.Config{Plugin: cni.Cilium, Cilium: cni.CiliumConfig{Source: "vendor"}}, "quay.io/cilium/", "v1.21.0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			tc.config.Default()
			if problems := tc.config.Validate(nil); len(problems) > 0 {
				t.Fatal(problems)
			}
			n := network{config: tc.config}
			plain := tc.config
			plain.Calico.Source, plain.Cilium.Source, plain.Calico.Version = "", "", ""
			plain.Default()
			fetched, _ := upstream.Fetch(t, plain, n.cluster())
			_, err := cni.Objects(tc.config, n.cluster(), tagged(fetched, tc.repository, tc.tag))
			wantVersionError(t, err, tc.says)
		})
	}
}

// TestCheckSource checks sources before planning.
func TestCheckSource(t *testing.T) {
	upstream := cnitest.Serve(t)
	manifest := cni.Config{Plugin: cni.Calico}
	manifest.Default()
	fetched, _ := upstream.Fetch(t, manifest, network{config: manifest}.cluster())
	operator := func(version string) cni.Config {
		return cni.Config{Plugin: cni.Calico, Calico: cni.CalicoConfig{Form: cni.OperatorForm, Source: "https://mirror.corp/calico", Version: version}}
	}
	cilium := cni.Config{Plugin: cni.Cilium, Cilium: cni.CiliumConfig{Source: "vendor/cilium"}}
	for name, tc := range map[string]struct {
		config  cni.Config
		objects []*unstructured.Unstructured
		chart   string
		says    string
	}{
		"the same": {operator(""), fetched, "", ""},
		"another patch": {
			operator(""),
			tagged(fetched, "quay.io/calico/", "v3.32.2"),
			"",
			"https://mirror.corp/calico/calico.yaml has Calico v3.32.2, expected v3.32.4, from network.calico.version or its default: set network.calico.version to v3.32.2",
		},
		"another version than in airgap.yaml": {operator("v3.31.7"), fetched, "", "set network.calico.version to v3.32.4"},
		"too old":                             {operator(""), tagged(fetched, "quay.io/calico/", "v3.29.3"), "", "expected 3.31 or later"},
		"no version":                          {operator(""), nil, "", "network.calico.version is not set, and https://mirror.corp/calico/calico.yaml, which has it, does not exist"},
		"airgap.yaml alone":                   {operator("v3.31.7"), nil, "", ""},
		"no manifest of Calico":               {operator(""), fetched[:1], "", "calico.yaml: patch upstream's objects: DaemonSet kube-system/calico-node does not exist"},
		"a chart":                             {cilium, nil, "1.20.3", ""},
		"a chart with other types":            {cilium, nil, "1.16.19", "chart vendor/cilium has Cilium 1.16.19, expected a release from 1.18 on"},
		"a chart before release":              {cilium, nil, "1.21.0-pre.0", "has Cilium 1.21.0-pre.0"},
		"flannel":                             {cni.Config{}, nil, "", ""},
		"a repository of charts":              {cni.Config{Plugin: cni.Cilium, Cilium: cni.CiliumConfig{Source: "https://mirror.corp/charts"}}, nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			tc.config.Default()
			err := cni.CheckSource(tc.config, tc.objects, tc.chart)
			if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v, want %q", err, tc.says)
			}
		})
	}
}

func wantVersionError(t *testing.T, err error, says string) {
	t.Helper()
	if says == "" {
		if err != nil {
			t.Error(err)
		}
		return
	}
	if _, is := errors.AsType[*cni.VersionError](err); !is || !strings.Contains(err.Error(), says) {
		t.Errorf("got %v, want %q", err, says)
	}
}
