package nodereport

import (
	"context"

	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/manifests"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

// Objects define the kind, and let a node write the object that is named after
// it and no other.
func Objects() ([]*unstructured.Unstructured, error) {
	return manifests.Render("node-report.yaml", nil)
}

// Step brings them to the cluster that connect leads to.
func Step(connect func() (*rest.Config, error)) step.Step {
	applied := manifests.Applied{
		Connect: connect,
		Objects: func(context.Context) ([]*unstructured.Unstructured, error) { return Objects() },
	}
	return applied.Step("node-report", "Let each host report what only it knows")
}
