package cni

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/manifests"
	"airgap.dev/airgap/verify/apitest"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "update the golden files")

const podSubnet = "10.244.0.0/16"

func aCluster() Cluster { return Cluster{PodSubnet: podSubnet, ProxyMode: "iptables", Nodes: 3} }

func TestFlannelObjects(t *testing.T) {
	var config Config
	config.Default()
	golden(t, "flannel.golden.yaml", render(t, config))
}

func TestFlannelOnAnotherPortAndMTU(t *testing.T) {
	objects := render(t, Config{Plugin: Flannel, Encapsulation: VXLAN, Port: 4789, MTU: 1400})
	var conf struct {
		Network string
		Backend map[string]any
	}
	if err := json.Unmarshal([]byte(configMap(t, objects).Data["net-conf.json"]), &conf); err != nil {
		t.Fatal(err)
	}
	if conf.Network != podSubnet || conf.Backend["Type"] != "vxlan" || conf.Backend["Port"] != 4789.0 || conf.Backend["MTU"] != 1400.0 {
		t.Errorf("configuration is %+v", conf)
	}
	var plain Config
	plain.Default()
	if before := annotations(t, render(t, plain)); before["airgap.dev/configuration"] == annotations(t, objects)["airgap.dev/configuration"] {
		t.Error("a changed configuration does not restart the pods")
	}
}

func TestNothingIsPulledThatIsNotBundled(t *testing.T) {
	var config Config
	config.Default()
	spec := daemonSet(t, render(t, config)).Spec.Template.Spec
	var used []string
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		used = append(used, c.Image)
	}
	slices.Sort(used)
	if want := slices.Sorted(slices.Values(Images(config))); !slices.Equal(slices.Compact(used), want) {
		t.Errorf("objects use %v, the bundle has %v", used, want)
	}
}

func TestPodSubnetMustBeAnIPv4Network(t *testing.T) {
	var config Config
	config.Default()
	for _, bad := range []string{"", "10.244.0.0", "fd00::/48", "10.244.1.0/16"} {
		if _, err := Objects(config, Cluster{PodSubnet: bad}, nil); err == nil || !strings.Contains(err.Error(), "pod subnet") {
			t.Errorf("%q: got %v", bad, err)
		}
	}
}

// TestStep runs the step with a real API server, which rejects invalid objects.
func TestStep(t *testing.T) {
	server := apitest.Start(t)
	var config Config
	config.Default()
	s := Step(Network{Config: config, Cluster: aCluster(), Connect: func() (*rest.Config, error) { return server.Config, nil }})
	if plan, err := s.Plan(t.Context()); err != nil || len(plan) != len(render(t, config)) || plan[0] != "apply Namespace kube-flannel" {
		t.Errorf("plan: %q, %v", plan, err)
	}
	for _, want := range []bool{false, true} {
		if done, err := s.Done(t.Context()); err != nil || done != want {
			t.Fatalf("Done is %v (%v), want %v", done, err, want)
		}
		if err := s.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := manifests.Apply(t.Context(), server.Config, render(t, config)); err != nil || n != 0 {
		t.Errorf("the second apply changed %d objects (%v)", n, err)
	}
}

// TestPlanWithoutAServer checks that without an API server the plan is to apply all objects.
func TestPlanWithoutAServer(t *testing.T) {
	var config Config
	config.Default()
	s := Step(Network{Config: config, Cluster: aCluster(), Connect: func() (*rest.Config, error) { return nil, errors.New("there is none") }})
	plan, err := s.Plan(t.Context())
	if err == nil || len(plan) != len(render(t, config)) {
		t.Errorf("plan: %q, %v", plan, err)
	}
}

func render(t *testing.T, config Config) []*unstructured.Unstructured {
	t.Helper()
	objects, err := Objects(config, aCluster(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func daemonSet(t *testing.T, objects []*unstructured.Unstructured) appsv1.DaemonSet {
	t.Helper()
	var d appsv1.DaemonSet
	convert(t, objects, "DaemonSet", &d)
	return d
}

func annotations(t *testing.T, objects []*unstructured.Unstructured) map[string]string {
	t.Helper()
	return daemonSet(t, objects).Spec.Template.Annotations
}

func configMap(t *testing.T, objects []*unstructured.Unstructured) corev1.ConfigMap {
	t.Helper()
	var c corev1.ConfigMap
	convert(t, objects, "ConfigMap", &c)
	return c
}

// convert is strict: an unknown field is an error.
func convert(t *testing.T, objects []*unstructured.Unstructured, kind string, into any) {
	t.Helper()
	for _, object := range objects {
		if object.GetKind() == kind {
			if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, into, true); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("no %s", kind)
}

func golden(t *testing.T, name string, objects []*unstructured.Unstructured) {
	t.Helper()
	var got bytes.Buffer
	for _, object := range objects {
		text, err := yaml.Marshal(object.Object)
		if err != nil {
			t.Fatal(err)
		}
		got.WriteString("---\n")
		got.Write(text)
	}
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%s differs (update it with go test ./cni -update):\n%s", path, got.Bytes())
	}
}
