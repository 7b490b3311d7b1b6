package gpu

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/manifests"
)

// Inventory is what a node is labelled with, as NVIDIA's library says it.
type Inventory struct {
	Product string // of its cards: "NVIDIA H200"; "" where they are not all the same
	Count   int    // of cards
	Memory  int64  // of one card, in bytes; 0 where that is not told
	Driver  string // "580.82.07"
	CUDA    string // "13.0"
}

// Labels are those of a GPU node. The ones below nvidia.com have the names and forms
// of NVIDIA's gpu-feature-discovery and operator, by which workloads select nodes;
// what is not known has none.
func (i Inventory) Labels() map[string]string {
	labels := map[string]string{LabelGPU: "true"}
	put := func(name, value string) {
		if value != "" {
			labels["nvidia.com/"+name] = value
		}
	}
	put("gpu.present", "true")
	put("gpu.product", labelValue(i.Product))
	if i.Count > 0 {
		put("gpu.count", fmt.Sprint(i.Count))
	}
	if i.Memory > 0 {
		put("gpu.memory", fmt.Sprint(i.Memory>>20)) // MiB
	}
	put("cuda.driver-version.full", labelValue(i.Driver))
	put("cuda.runtime-version.full", labelValue(i.CUDA))
	return labels
}

// labelValue is a text with what a label may not have replaced by "-": at most 63
// letters, digits, "-", "_" and ".", a letter or digit at each end.
func labelValue(text string) string {
	value := regexp.MustCompile(`[^A-Za-z0-9_.-]+`).ReplaceAllString(text, "-")
	return strings.Trim(value[:min(63, len(value))], "-_.")
}

// LabelStep labels the Node of this host. connect leads to the cluster with the
// kubelet's identity: it may write labels on its own Node, but for those below
// kubernetes.io (admission plugin NodeRestriction). The kubelet's --node-labels would
// only reach a Node that is not there yet. The labels go with the Node.
func LabelStep(node string, labels func(context.Context) (map[string]string, error), connect func() (*rest.Config, error)) step.Step {
	applied := manifests.Applied{
		Connect: connect,
		Objects: func(ctx context.Context) ([]*unstructured.Unstructured, error) {
			wanted, err := labels(ctx)
			if err != nil {
				return nil, err
			}
			object := &unstructured.Unstructured{}
			object.SetAPIVersion("v1")
			object.SetKind("Node")
			object.SetName(node)
			object.SetLabels(wanted)
			return []*unstructured.Unstructured{object}, nil
		},
	}
	return applied.Step("gpu-labels", "Label this node with its GPUs")
}
