package nodereport

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/dynamic"
)

// labelManager owns the labels of cards. What it does not apply again goes.
const labelManager = "airgap-node-labels"

// Labels are what schedulers may ask of this node's cards: that there are some,
// by the bus, and all else by NVML while it answers. Names and forms are those of
// NVIDIA's GPU feature discovery (NVIDIA/k8s-device-plugin, internal/lm), so that
// what was written for it finds them. Where cards differ, the first kind counts.
func (r Report) Labels() map[string]string {
	all := map[string]string{}
	if r.GPU == nil || r.GPU.Bus == 0 {
		return all
	}
	all["nvidia.com/gpu.present"] = "true"
	n := r.GPU.NVML
	if n == nil || len(n.Products) == 0 {
		return all
	}
	first := n.Products[0]
	version := strings.SplitN(n.Driver, ".", 3)
	all["nvidia.com/gpu.count"] = strconv.Itoa(n.Cards)
	all["nvidia.com/gpu.product"] = strings.ReplaceAll(first.Name, " ", "-")
	all["nvidia.com/mig.capable"] = strconv.FormatBool(slices.ContainsFunc(n.Products, func(p Product) bool { return p.MIG }))
	all["nvidia.com/cuda.driver-version.major"] = version[0]
	if len(version) > 1 {
		all["nvidia.com/cuda.driver-version.minor"] = version[1]
	}
	if first.Memory > 0 {
		all["nvidia.com/gpu.memory"] = strconv.Itoa(first.Memory) // MiB
	}
	maps.DeleteFunc(all, func(_, value string) bool { return len(validation.IsValidLabelValue(value)) > 0 })
	return all
}

// labeled is what a Node has of us.
type labeled struct {
	node   types.UID
	labels map[string]string
}

// label puts the report's labels on the Node, and takes off those of before. It
// asks only when they have changed, or the Node is another one. Nothing is forced:
// where somebody else keeps one of the labels with another value, all stay as they
// are, and the error says who that is.
func (l *labeled) label(ctx context.Context, client dynamic.Interface, node string, uid types.UID, r Report) error {
	if r.gpuUnknown() {
		return nil
	}
	want := labeled{uid, r.Labels()}
	if l.node == uid && maps.Equal(l.labels, want.labels) {
		return nil
	}
	// The UID keeps a Node that was deleted meanwhile from being made anew.
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Node"}}
	o.SetName(node)
	o.SetUID(uid)
	o.SetLabels(want.labels)
	_, err := nodes(client).Apply(ctx, node, o, metav1.ApplyOptions{FieldManager: labelManager})
	if err == nil || apierrors.IsConflict(err) {
		*l = want
	}
	if err != nil {
		return fmt.Errorf("label Node %s: %w", node, err)
	}
	return nil
}

// gpuUnknown is true until the cards were looked at.
func (r Report) gpuUnknown() bool {
	return slices.ContainsFunc(r.Unknown, func(u Unknown) bool { return u.Part == "gpu" })
}
