package dataplane

import (
	"context"

	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/manifests"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

// port is where the pods answer; it needs no privilege.
const port = 8080

// Objects are the namespace with the DaemonSet, its Service and what it may do
// in the cluster. image is this program's, as NAME:TAG@DIGEST.
func Objects(image string) ([]*unstructured.Unstructured, error) {
	return manifests.Render("data-plane.yaml", map[string]any{
		"Namespace": Namespace, "Name": Name, "Image": image, "Port": port, "Condition": Condition, "Kept": kept(),
	})
}

// kept are the fields of a pod's status that the kubelet alone writes: who could write them
// would move the pod's address, or hide that its containers fail.
func kept() []string {
	return []string{
		"phase", "message", "reason", "hostIP", "hostIPs", "podIP", "podIPs", "nominatedNodeName", "qosClass", "startTime", "resourceClaimStatuses",
		"containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses",
	}
}

// Step brings the pods to the cluster that connect leads to. image is asked for
// when the step's turn has come.
func Step(image func() (string, error), connect func() (*rest.Config, error)) step.Step {
	applied := manifests.Applied{
		Connect: connect,
		Objects: func(context.Context) ([]*unstructured.Unstructured, error) {
			name, err := image()
			if err != nil {
				return nil, err
			}
			return Objects(name)
		},
	}
	return applied.Step("data-plane", "Have a pod on each node try the pod network")
}
