package nodereport

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/manifests"
)

// Objects define the kind, and let each of the nodes read and write the object that is
// named after it and no other.
func Objects(nodes []string) ([]*unstructured.Unstructured, error) {
	all, err := manifests.Render("node-report.yaml", nil)
	for _, name := range nodes {
		all = append(all, Rights(name)...)
	}
	return all, err
}

// Rights are those of one node: to its own report, and to the configuration of its own
// kubelet, which asks the API server who may read that.
func Rights(node string) []*unstructured.Unstructured {
	name := "airgap:node-report:" + node
	rule := func(group, resource string, verbs ...any) any {
		return map[string]any{"apiGroups": []any{group}, "resources": []any{resource}, "resourceNames": []any{node}, "verbs": verbs}
	}
	const rbac = "rbac.authorization.k8s.io"
	return []*unstructured.Unstructured{
		{Object: map[string]any{
			"apiVersion": rbac + "/v1", "kind": "ClusterRole", "metadata": map[string]any{"name": name},
			"rules": []any{rule("airgap.dev", "nodereports", "get", "update", "patch"), rule("", "nodes/configz", "get")},
		}},
		{Object: map[string]any{
			"apiVersion": rbac + "/v1", "kind": "ClusterRoleBinding", "metadata": map[string]any{"name": name},
			"roleRef":  map[string]any{"apiGroup": rbac, "kind": "ClusterRole", "name": name},
			"subjects": []any{map[string]any{"apiGroup": rbac, "kind": "User", "name": "system:node:" + node}},
		}},
	}
}

// Allow gives a node that is about to join its rights.
func Allow(ctx context.Context, client kubernetes.Interface, node string) error {
	for _, o := range Rights(node) {
		body, err := json.Marshal(o)
		if err != nil {
			return err
		}
		err = client.RbacV1().RESTClient().Patch(types.ApplyPatchType).
			Resource(strings.ToLower(o.GetKind())+"s").Name(o.GetName()).
			Param("fieldManager", manifests.FieldManager).Param("force", "true").Body(body).Do(ctx).Error()
		if err != nil {
			return fmt.Errorf("let node %s report: %w", node, err)
		}
	}
	return nil
}

// Disallow takes the rights of a node that has left the cluster: they would be those of
// another host that gets its name.
func Disallow(ctx context.Context, client kubernetes.Interface, node string) error {
	for _, o := range Rights(node) {
		err := client.RbacV1().RESTClient().Delete().Resource(strings.ToLower(o.GetKind()) + "s").Name(o.GetName()).Do(ctx).Error()
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

// Step brings them to the cluster that connect leads to.
func Step(nodes []string, connect func() (*rest.Config, error)) step.Step {
	applied := manifests.Applied{
		Connect: connect,
		Objects: func(context.Context) ([]*unstructured.Unstructured, error) { return Objects(nodes) },
	}
	return applied.Step("node-report", "Let each host report what only it knows")
}
