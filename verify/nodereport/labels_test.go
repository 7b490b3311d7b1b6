package nodereport

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

func mixed() Report {
	return Report{GPU: &GPU{Bus: 3, Driver: "580.82.07", NVML: &NVML{Driver: "580.82.07", Cards: 3, Products: []Product{
		{"NVIDIA L4", 2, 23034, false}, {"NVIDIA A100-SXM4-80GB", 1, 81920, true},
	}}}}
}

func TestLabelsOfReport(t *testing.T) {
	odd := mixed()
	odd.GPU.NVML.Products = []Product{{Name: "GRID (test)"}}
	odd.GPU.NVML.Driver = "580"
	for name, test := range map[string]struct {
		report Report
		want   string
	}{
		"no cards":         {Report{}, ""},
		"all were removed": {Report{GPU: &GPU{Want: &ExpectedGPUs{Count: 2}}}, ""},
		"no driver":        {Report{GPU: &GPU{Bus: 2}}, "gpu.present=true"},
		"no answer":        {Report{GPU: &GPU{Bus: 2, Driver: "580.82.07", NVML: &NVML{Error: "e"}}}, "gpu.present=true"},
		"two kinds":        {mixed(), "cuda.driver-version.major=580 cuda.driver-version.minor=82 gpu.count=3 gpu.memory=23034 gpu.present=true gpu.product=NVIDIA-L4 mig.capable=true"},
		"no valid value":   {odd, "cuda.driver-version.major=580 gpu.count=3 gpu.present=true mig.capable=false"},
	} {
		if got := strings.Join(sorted(test.report.Labels()), " "); got != test.want {
			t.Errorf("%s: got  %s\nwant %s", name, got, test.want)
		}
	}
}

// sorted returns NVIDIA's labels as NAME=VALUE, without the domain.
func sorted(labels map[string]string) []string {
	var all []string
	for key, value := range labels {
		if name, is := strings.CutPrefix(key, "nvidia.com/"); is {
			all = append(all, name+"="+value)
		}
	}
	slices.Sort(all)
	return all
}

// TestLabels creates, changes and removes the labels of a Node, at a real API server.
func TestLabels(t *testing.T) {
	c := startCluster(t, "w1", "w2")
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var said []string
	report := Report{Unknown: []Unknown{{"gpu", notCollected}}}
	w := &Writer{
		Node: "w1", Client: c.kubelet(t), now: func() time.Time { return now }, Collect: func(context.Context) Report { return report },
		Logf: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) },
	}
	has := func(what string, r Report, want ...string) {
		t.Helper()
		now, report = now.Add(beat), r
		w.turn(t.Context())
		node, err := c.Client(t).CoreV1().Nodes().Get(t.Context(), "w1", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := sorted(node.Labels); !slices.Equal(got, want) || node.Labels["rack"] != "7" {
			t.Errorf("%s: got %q, want %q; the site's label is %q; logged %q", what, got, want, node.Labels["rack"], said)
		}
	}
	c.patch(t, `{"metadata": {"labels": {"rack": "7"}}}`)
	has("not collected yet", report)
	has("GPUs without a driver", Report{GPU: &GPU{Bus: 3}}, "gpu.present=true")
	all := sorted(mixed().Labels())
	has("GPUs with a driver", mixed(), all...)
	has("the part failed", Report{Unknown: []Unknown{{"gpu", "no answer"}}}, all...)
	has("the GPUs were removed", Report{})
	has("the GPUs were added again", mixed(), all...)
	if len(said) > 0 {
		t.Errorf("logged %q, want no line", said)
	}
	t.Run("label of another manager", func(t *testing.T) {
		c.patch(t, `{"metadata": {"labels": {"nvidia.com/gpu.count": "12"}}}`)
		theirs := slices.Clone(all)
		theirs[slices.Index(all, "gpu.count=3")] = "gpu.count=12"
		fewer := mixed()
		fewer.GPU.NVML.Cards = 2
		has("the label stays", fewer, theirs...)
		has("it is logged once", fewer, theirs...)
		if len(said) != 1 || !strings.HasPrefix(said[0], "label Node w1: ") || !strings.Contains(said[0], "gpu.count") {
			t.Errorf("logged %q, want one line about gpu.count", said)
		}
	})
	t.Run("deleted Node", func(t *testing.T) { nodeNotRecreated(t, c) })
	t.Run("another node", func(t *testing.T) {
		other, err := nodes(c.admin).Get(t.Context(), "w2", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var l applied
		if err := l.label(t.Context(), c.kubelet(t), "w2", other.GetUID(), mixed()); !apierrors.IsForbidden(err) {
			t.Errorf("w1 labels w2: got %v, want Forbidden", err)
		}
	})
}

func (c cluster) patch(t *testing.T, merge string) {
	t.Helper()
	if _, err := nodes(c.admin).Patch(t.Context(), "w1", types.MergePatchType, []byte(merge), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// nodeNotRecreated: the labels of a host do not re-create its deleted Node, and a new Node gets
// them.
func nodeNotRecreated(t *testing.T, c cluster) {
	api := c.Client(t).CoreV1().Nodes()
	old, err := api.Get(t.Context(), "w1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := api.Delete(t.Context(), "w1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	var l applied
	if err := l.label(t.Context(), c.kubelet(t), "w1", old.UID, mixed()); err == nil {
		t.Error("labels without a Node: got no error")
	}
	if _, err := api.Get(t.Context(), "w1", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Node was re-created: %v", err)
	}
	node := c.makeNode(t, "w1")
	if err := l.label(t.Context(), c.kubelet(t), "w1", node.UID, mixed()); err != nil {
		t.Fatal(err)
	}
	live, err := nodes(c.admin).Get(t.Context(), "w1", metav1.GetOptions{})
	if err != nil || !maps.Equal(nvidiaLabels(live), mixed().Labels()) {
		t.Errorf("labels of the new Node: got %v, %v", live.GetLabels(), err)
	}
}

func nvidiaLabels(o *unstructured.Unstructured) map[string]string {
	all := o.GetLabels()
	maps.DeleteFunc(all, func(key, _ string) bool { return !strings.HasPrefix(key, "nvidia.com/") })
	return all
}
