package chart_test

import (
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle/chart"
	"airgap.dev/airgap/bundle/chart/charttest"
)

// apisOf returns the APIs that a chart sees with a version of Kubernetes.
func apisOf(t *testing.T, version string, others ...string) []string {
	t.Helper()
	c, err := chart.Open(charttest.Archive(t, "till", named(map[string]string{
		"templates/a.yaml": data("a", "  apis: {{ join \" \" .Capabilities.APIVersions | quote }}"), "crds/a.yaml": charttest.Checkout()["crds/shops.yaml"],
	})))
	must(t, err)
	r := forTest()
	r.KubeVersion, r.APIs = version, others
	rendered, err := c.Render(r)
	must(t, err)
	for _, o := range rendered.Objects {
		if o.GetKind() == "ConfigMap" {
			return strings.Fields(o.Object["data"].(map[string]any)["apis"].(string))
		}
	}
	t.Fatal("the ConfigMap is missing")
	return nil
}

// TestCapabilities: a chart sees the APIs of the cluster's version, not of the library's newest.
func TestCapabilities(t *testing.T) {
	for api, served := range map[string]map[string]bool{ // by version of Kubernetes
		"v1/Pod":                                                    {"1.21.0": true, "1.36.3": true},
		"apps/v1/Deployment":                                        {"1.21.0": true, "1.36.3": true},
		"batch/v1":                                                  {"1.20.0": true, "1.36.3": true},
		"batch/v1/CronJob":                                          {"1.20.0": false, "1.21.0": true, "1.36.3": true},
		"batch/v1beta1/CronJob":                                     {"1.24.0": true, "1.25.0": false, "1.36.3": false},
		"policy/v1beta1/PodDisruptionBudget":                        {"1.24.0": true, "1.25.0": false, "1.36.3": false},
		"policy/v1beta1":                                            {"1.24.0": true, "1.25.0": false, "1.36.3": false},
		"policy/v1/PodDisruptionBudget":                             {"1.20.0": false, "1.21.0": true, "1.36.3": true},
		"autoscaling/v2":                                            {"1.22.0": false, "1.23.0": true, "1.36.3": true},
		"networking.k8s.io/v1/Ingress":                              {"1.19.0": true, "1.36.3": true},
		"networking.k8s.io/v1beta1/Ingress":                         {"1.21.0": true, "1.22.0": false, "1.36.3": false},
		"extensions/v1beta1/Ingress":                                {"1.21.0": true, "1.22.0": false},
		"extensions/v1beta1/Deployment":                             {"1.21.0": false},
		"flowcontrol.apiserver.k8s.io/v1beta1/FlowSchema":           {"1.25.0": true, "1.26.0": false},
		"flowcontrol.apiserver.k8s.io/v1beta2/FlowSchema":           {"1.22.0": false, "1.28.0": true, "1.29.0": false},
		"flowcontrol.apiserver.k8s.io/v1beta3":                      {"1.25.0": false, "1.31.0": true, "1.32.0": false, "1.36.3": false},
		"flowcontrol.apiserver.k8s.io/v1/FlowSchema":                {"1.28.0": false, "1.29.0": true, "1.36.3": true},
		"resource.k8s.io/v1/ResourceClaim":                          {"1.33.0": false, "1.34.0": true, "1.36.3": true},
		"resource.k8s.io/v1":                                        {"1.33.0": false, "1.34.0": true},
		"resource.k8s.io/v1beta1":                                   {"1.33.0": false, "1.36.3": false}, // off by default
		"resource.k8s.io/v1beta2":                                   {"1.34.0": false, "1.36.3": false},
		"resource.k8s.io/v1alpha3":                                  {"1.34.0": false},
		"admissionregistration.k8s.io/v1/MutatingAdmissionPolicy":   {"1.35.0": false, "1.36.3": true},
		"admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy": {"1.29.0": false, "1.30.0": true, "1.36.3": true},
		"apiextensions.k8s.io/v1/CustomResourceDefinition":          {"1.21.0": true, "1.36.3": true},
		"apiregistration.k8s.io/v1/APIService":                      {"1.36.3": true},
		"example.com/v1/Shop":                                       {"1.36.3": true}, // from the chart
		"other.example/v1":                                          {"1.36.3": true}, // from the bundle
		"v1/PodList":                                                {"1.36.3": false},
		"apps/v1/WatchEvent":                                        {"1.36.3": false},
	} {
		for version, want := range served {
			if got := slices.Contains(apisOf(t, version, "other.example/v1"), api); got != want {
				t.Errorf("%s with Kubernetes %s: %v, want %v", api, version, got, want)
			}
		}
	}
}

// TestValues reads values as Helm does. TestAsHelm compares the values in templates.
func TestValues(t *testing.T) {
	for name, tc := range map[string]struct{ in, notice, failure string }{
		"empty":          {"", "", ""},
		"mapping":        {"a: {b: 1}\n", "", ""},
		"documents":      {"a: {b: 1}\n---# more\na: {c: 2}\n", "", ""},
		"JSON":           {`{"a": {"b": 1}}`, "", ""},
		"duplicate key":  {"a: 1\n---\nb: 1\nb: 2\n", "v.yaml, document 2, line 4: key b appears more than once; the last one counts, as in Helm and kubectl", ""},
		"a list":         {"- a\n", "", "v.yaml: expected a mapping"},
		"not YAML":       {"a: b: c\n", "", `v.yaml, document 1: line 1: a value that contains ": " needs quotes`},
		"tab":            {"a: 1\n---\nb:\n\tc: 1\n", "", "v.yaml, document 2: line 4: the line is indented with a tab"},
		"mark and text":  {"a: 1\n---b: 1\n", "", `v.yaml, line 2: "---b: 1" is not a document separator`},
		"aliases":        {"a: &a {b: 1}\nc: *a\n", "", ""},
		"nested aliases": {bomb(), "", "v.yaml, document 1: its aliases expand to more than"},
	} {
		t.Run(name, func(t *testing.T) {
			values, notices, err := chart.Values("v.yaml", []byte(tc.in))
			if tc.failure != "" {
				wantError(t, err, tc.failure)
				return
			}
			must(t, err)
			if values == nil || strings.Join(notices, "\n") != tc.notice {
				t.Errorf("got %v, notices %q", values, notices)
			}
		})
	}
}

// bomb returns a document with aliases that expand to a billion values.
func bomb() string {
	text := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range "123456789" {
		here, before := string(rune('1'+i)), string(rune('0'+i))
		text += "a" + here + ": &a" + here + " [" + strings.TrimSuffix(strings.Repeat("*a"+before+", ", 10), ", ") + "]\n"
	}
	return text
}
