package gpu

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/manifests"
)

// LabelStep says on the Node of this host that it has cards to give out: LabelGPU,
// by which the device plugin's pods find it. What NVIDIA's library says of the cards
// is labelled by the host's report. connect leads to the cluster with the kubelet's
// identity: it may write labels on its own Node, but for those below kubernetes.io
// (admission plugin NodeRestriction). The kubelet's --node-labels would only reach a
// Node that is not there yet. The label goes with the Node.
func LabelStep(node string, connect func() (*rest.Config, error)) step.Step {
	applied := manifests.Applied{
		Connect: connect,
		Objects: func(context.Context) ([]*unstructured.Unstructured, error) {
			object := &unstructured.Unstructured{}
			object.SetAPIVersion("v1")
			object.SetKind("Node")
			object.SetName(node)
			object.SetLabels(map[string]string{LabelGPU: "true"})
			return []*unstructured.Unstructured{object}, nil
		},
	}
	return applied.Step("gpu-label", "Label this node: it has GPUs")
}
