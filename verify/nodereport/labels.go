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

// labelManager is the field manager of the GPU labels. Server-side apply removes a label that it
// no longer applies.
const labelManager = "airgap-node-labels"

// Labels returns the labels for schedulers about this node's GPUs. gpu.present is from the PCI bus,
// all others are from NVML while it answers. Names and formats match NVIDIA's GPU feature
// discovery (NVIDIA/k8s-device-plugin, internal/lm), so existing selectors work. If the GPUs
// differ, the first product decides.
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

// applied has the labels that airgap last applied, and the UID of the Node.
type applied struct {
	node   types.UID
	labels map[string]string
}

// label applies the report's labels to the Node and removes the previous ones. It sends a request
// only if the labels or the Node's UID have changed. It does not force: if another field manager
// has one of the labels with another value, all labels stay and the error names that manager.
func (l *applied) label(ctx context.Context, client dynamic.Interface, node string, uid types.UID, r Report) error {
	if r.gpuUnknown() {
		return nil
	}
	want := applied{uid, r.Labels()}
	if l.node == uid && maps.Equal(l.labels, want.labels) {
		return nil
	}
	// With the UID, the request cannot re-create a Node that was deleted in the meantime.
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

// gpuUnknown reports whether the GPU part was not collected yet or failed.
func (r Report) gpuUnknown() bool {
	return slices.ContainsFunc(r.Unknown, func(u Unknown) bool { return u.Part == "gpu" })
}
