package gpu

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/manifests"
)

// LabelStep sets LabelGPU on the Node of this host, so that the device plugin's pods run there. The
// host's report sets labels with properties of the GPUs. connect returns a client with the kubelet's
// identity: it may set labels on its own Node, except those below kubernetes.io (admission plugin
// NodeRestriction). The kubelet's --node-labels has an effect only before the Node exists. The label
// is deleted with the Node.
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
	return applied.Step("gpu-label", "Label this node as a GPU node")
}
