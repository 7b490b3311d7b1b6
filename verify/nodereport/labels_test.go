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
		"no cards":           {Report{}, ""},
		"gone, all of them":  {Report{GPU: &GPU{Want: &Cards{Count: 2}}}, ""},
		"no driver":          {Report{GPU: &GPU{Bus: 2}}, "gpu.present=true"},
		"no answer":          {Report{GPU: &GPU{Bus: 2, Driver: "580.82.07", NVML: &NVML{Error: "e"}}}, "gpu.present=true"},
		"two kinds":          {mixed(), "cuda.driver-version.major=580 cuda.driver-version.minor=82 gpu.count=3 gpu.memory=23034 gpu.present=true gpu.product=NVIDIA-L4 mig.capable=true"},
		"no value of labels": {odd, "cuda.driver-version.major=580 gpu.count=3 gpu.present=true mig.capable=false"},
	} {
		if got := strings.Join(sorted(test.report.Labels()), " "); got != test.want {
			t.Errorf("%s: got  %s\nwant %s", name, got, test.want)
		}
	}
}

// sorted are labels without NVIDIA's domain.
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

// TestLabels goes through the life of a Node's labels, at a real API server.
func TestLabels(t *testing.T) {
	c := startCluster(t, "w1", "w2")
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var said []string
	report := Report{Unknown: []Unknown{{"gpu", NotYet}}}
	w := &Writer{
		Node: "w1", Client: c.kubelet(t), now: func() time.Time { return now }, Collect: func(context.Context) Report { return report },
		Say: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) },
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
			t.Errorf("%s: %q, want %q; the site's: %q; said %q", what, got, want, node.Labels["rack"], said)
		}
	}
	c.patch(t, `{"metadata": {"labels": {"rack": "7"}}}`)
	has("nobody has looked", report)
	has("cards without a driver", Report{GPU: &GPU{Bus: 3}}, "gpu.present=true")
	all := sorted(mixed().Labels())
	has("with one", mixed(), all...)
	has("nobody could look", Report{Unknown: []Unknown{{"gpu", "no answer"}}}, all...)
	has("the cards are gone", Report{})
	has("and back", mixed(), all...)
	if len(said) > 0 {
		t.Errorf("said %q", said)
	}
	t.Run("another's", func(t *testing.T) {
		c.patch(t, `{"metadata": {"labels": {"nvidia.com/gpu.count": "12"}}}`)
		theirs := slices.Clone(all)
		theirs[slices.Index(all, "gpu.count=3")] = "gpu.count=12"
		fewer := mixed()
		fewer.GPU.NVML.Cards = 2
		has("it stays", fewer, theirs...)
		has("and is told once", fewer, theirs...)
		if len(said) != 1 || !strings.HasPrefix(said[0], "label Node w1: ") || !strings.Contains(said[0], "gpu.count") {
			t.Errorf("said %q", said)
		}
	})
	t.Run("a Node that is gone", func(t *testing.T) { notMadeAnew(t, c) })
	t.Run("another node's", func(t *testing.T) {
		other, err := nodes(c.admin).Get(t.Context(), "w2", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var l labeled
		if err := l.label(t.Context(), c.kubelet(t), "w2", other.GetUID(), mixed()); !apierrors.IsForbidden(err) {
			t.Errorf("w1 labels w2: %v", err)
		}
	})
}

func (c cluster) patch(t *testing.T, merge string) {
	t.Helper()
	if _, err := nodes(c.admin).Patch(t.Context(), "w1", types.MergePatchType, []byte(merge), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// notMadeAnew: who takes a node out of the cluster does not get it back by its
// labels, and a new one gets them.
func notMadeAnew(t *testing.T, c cluster) {
	api := c.Client(t).CoreV1().Nodes()
	old, err := api.Get(t.Context(), "w1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := api.Delete(t.Context(), "w1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	var l labeled
	if err := l.label(t.Context(), c.kubelet(t), "w1", old.UID, mixed()); err == nil {
		t.Error("labels without a Node")
	}
	if _, err := api.Get(t.Context(), "w1", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Node is back: %v", err)
	}
	node := c.makeNode(t, "w1")
	if err := l.label(t.Context(), c.kubelet(t), "w1", node.UID, mixed()); err != nil {
		t.Fatal(err)
	}
	live, err := nodes(c.admin).Get(t.Context(), "w1", metav1.GetOptions{})
	if err != nil || !maps.Equal(cut(live), mixed().Labels()) {
		t.Errorf("the new Node has %v, %v", live.GetLabels(), err)
	}
}

func cut(o *unstructured.Unstructured) map[string]string {
	all := o.GetLabels()
	maps.DeleteFunc(all, func(key, _ string) bool { return !strings.HasPrefix(key, "nvidia.com/") })
	return all
}
