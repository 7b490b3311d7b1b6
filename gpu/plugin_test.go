package gpu

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/verify/apitest"
)

const pluginImage = "nvcr.io/nvidia/k8s-device-plugin:v0.19.2@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// TestCluster applies the plugin's objects to a real API server, and labels a Node with the permissions
// of its kubelet.
func TestCluster(t *testing.T) {
	server := apitest.Start(t, "--allow-privileged", "--authorization-mode=Node", "--enable-admission-plugins=NodeRestriction")
	admin := server.Client(t)
	t.Run("plugin", func(t *testing.T) { appliesPlugin(t, server, admin) })
	t.Run("labels", func(t *testing.T) { labelsNode(t, server, admin) })
}

func appliesPlugin(t *testing.T, server *apitest.Server, admin kubernetes.Interface) {
	p := Plugin{Image: pluginImage}
	st := PluginStep(func() (Plugin, error) { return p, nil }, func() (*rest.Config, error) { return server.Config, nil })
	brings(t, st, "apply DaemonSet kube-system/nvidia-device-plugin")
	whole := daemonSet(t, admin)
	c := whole.Containers[0]
	if c.Image != pluginImage || whole.PriorityClassName != "system-node-critical" || whole.NodeSelector[LabelGPU] != "true" {
		t.Errorf("the pod is %+v", whole)
	}
	class, err := admin.NodeV1().RuntimeClasses().Get(t.Context(), RuntimeClass, metav1.GetOptions{})
	if err != nil || class.Handler != "nvidia" || class.Scheduling.NodeSelector[LabelGPU] != "true" {
		t.Errorf("class %+v, %v", class, err)
	}

	before := template(t, admin)
	p.TimeSlices, p.MIGStrategy = 4, "single"
	holds(t, st.Done, false)
	if err := st.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if template(t, admin) == before {
		t.Error("another configuration does not restart the pods")
	}
	config, err := admin.CoreV1().ConfigMaps(PluginNamespace).Get(t.Context(), PluginName, metav1.GetOptions{})
	if err != nil || !strings.Contains(config.Data["config.yaml"], `"replicas": 4`) || !strings.Contains(config.Data["config.yaml"], `"migStrategy": "single"`) {
		t.Errorf("config %v, %v", config, err)
	}
}

// brings runs a step. The step must plan a change before, and be done after it.
func brings(t *testing.T, st step.Step, change string) {
	t.Helper()
	if plan, err := st.Plan(t.Context()); err != nil || !slices.Contains(plan, change) {
		t.Fatalf("plan %q, %v", plan, err)
	}
	holds(t, st.Done, false)
	if err := st.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	holds(t, st.Done, true)
}

func daemonSet(t *testing.T, admin kubernetes.Interface) corev1.PodSpec {
	t.Helper()
	set, err := admin.AppsV1().DaemonSets(PluginNamespace).Get(t.Context(), PluginName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return set.Spec.Template.Spec
}

// template returns the annotation with the hash of the pods' configuration.
func template(t *testing.T, admin kubernetes.Interface) string {
	t.Helper()
	set, err := admin.AppsV1().DaemonSets(PluginNamespace).Get(t.Context(), PluginName, metav1.GetOptions{})
	if err != nil || set.Spec.Template.Annotations["airgap.dev/config"] == "" {
		t.Fatalf("annotations %v, %v", set.Spec.Template.Annotations, err)
	}
	return set.Spec.Template.Annotations["airgap.dev/config"]
}

// labelsNode checks that a kubelet may set the label on its own Node and on no other.
func labelsNode(t *testing.T, server *apitest.Server, admin kubernetes.Interface) {
	for _, name := range []string{"gpu1", "gpu2"} {
		if _, err := admin.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	kubelet := func() (*rest.Config, error) {
		config := rest.CopyConfig(server.Config)
		config.Impersonate = rest.ImpersonationConfig{UserName: "system:node:gpu1", Groups: []string{"system:nodes", "system:authenticated"}}
		return config, nil
	}
	st := LabelStep("gpu1", kubelet)
	brings(t, st, "apply Node gpu1")
	node, err := admin.CoreV1().Nodes().Get(t.Context(), "gpu1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if node.Labels[LabelGPU] != "true" {
		t.Errorf("labels are %v", node.Labels)
	}
	if err := LabelStep("gpu2", kubelet).Run(t.Context()); !apierrors.IsForbidden(errors.Unwrap(err)) && !apierrors.IsForbidden(err) {
		t.Errorf("another Node: %v", err)
	}

	mine := []byte(`{"metadata":{"labels":{"airgap.dev/gpu":"no"}}}`)
	if _, err := admin.CoreV1().Nodes().Patch(t.Context(), "gpu1", types.MergePatchType, mine, metav1.PatchOptions{FieldManager: "somebody"}); err != nil {
		t.Fatal(err)
	}
	if err := st.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "somebody") {
		t.Errorf("a label that another user has set: %v", err)
	}
}
