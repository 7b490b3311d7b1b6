// Package deploy applies the objects of the package dataplane to a cluster. It is a separate
// package because airgap-probe must stay small, without the Kubernetes libraries.
package deploy

import (
	"context"
	"strings"

	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/manifests"
	"airgap.dev/airgap/verify/dataplane"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

// Objects returns the namespace, the DaemonSet, its Service and its rights in the cluster. image is
// the image of airgap-probe, as NAME:TAG@DIGEST; hostPort is 0, or the pods' own hostPort. The restricted
// profile forbids host ports. With one, an admission policy has the other rules of that profile. etcd has the nodes
// whose round trips the pods judge.
func Objects(image string, hostPort int, etcd dataplane.Etcd) ([]*unstructured.Unstructured, error) {
	return manifests.Render("data-plane.yaml", map[string]any{
		"Namespace": dataplane.Namespace, "Name": dataplane.Name, "Image": image, "Port": dataplane.Port, "Condition": dataplane.Condition, "Kept": kept(),
		"HostPort": hostPort, "PathPort": dataplane.PathPort,
		"Members": strings.Join(etcd.Members, " "), "Election": etcd.Election.String(),
	})
}

// kept returns the fields of a pod's status that only the kubelet may write: another writer could
// change the pod's address, or hide that its containers fail.
func kept() []string {
	return []string{
		"phase", "message", "reason", "hostIP", "hostIPs", "podIP", "podIPs", "nominatedNodeName", "qosClass", "startTime", "resourceClaimStatuses",
		"containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses",
	}
}

// Step applies Objects to the cluster that connect returns. It calls image when the step runs.
func Step(image func() (string, error), hostPort int, etcd dataplane.Etcd, connect func() (*rest.Config, error)) step.Step {
	applied := manifests.Applied{
		Connect: connect,
		Objects: func(context.Context) ([]*unstructured.Unstructured, error) {
			name, err := image()
			if err != nil {
				return nil, err
			}
			return Objects(name, hostPort, etcd)
		},
	}
	return applied.Step("data-plane", "Install the pods that test the pod network")
}
