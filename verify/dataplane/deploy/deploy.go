// Package deploy brings the pods of the package dataplane to a cluster. It is a package
// of its own so that their program stays small: it needs nothing of Kubernetes' libraries.
package deploy

import (
	"context"

	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/manifests"
	"airgap.dev/airgap/verify/dataplane"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

// Objects are the namespace with the DaemonSet, its Service and what it may do
// in the cluster. image is that of airgap-probe, as NAME:TAG@DIGEST.
func Objects(image string) ([]*unstructured.Unstructured, error) {
	return manifests.Render("data-plane.yaml", map[string]any{
		"Namespace": dataplane.Namespace, "Name": dataplane.Name, "Image": image, "Port": dataplane.Port, "Condition": dataplane.Condition, "Kept": kept(),
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
