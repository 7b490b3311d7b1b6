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

// Objects returns the definition of the kind, and the rights with which each node reads and writes
// only the object that has its name.
func Objects(nodes []string) ([]*unstructured.Unstructured, error) {
	all, err := manifests.Render("node-report.yaml", nil)
	for _, name := range nodes {
		all = append(all, nodeRights(name)...)
	}
	return all, err
}

// nodeRights returns the rights of one node: to its report, and to nodes/configz of its kubelet. The
// kubelet authorizes requests to /configz with the API server.
func nodeRights(node string) []*unstructured.Unstructured {
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

// Allow creates the rights of a node that is about to join.
func Allow(ctx context.Context, client kubernetes.Interface, node string) error {
	for _, o := range nodeRights(node) {
		body, err := json.Marshal(o)
		if err != nil {
			return err
		}
		err = client.RbacV1().RESTClient().Patch(types.ApplyPatchType).
			Resource(strings.ToLower(o.GetKind())+"s").Name(o.GetName()).
			Param("fieldManager", manifests.FieldManager).Param("force", "true").Body(body).Do(ctx).Error()
		if err != nil {
			return fmt.Errorf("apply the rights of node %s to report: %w", node, err)
		}
	}
	return nil
}

// Disallow deletes the rights of a node that has left the cluster. Otherwise another host that
// gets its name would have them.
func Disallow(ctx context.Context, client kubernetes.Interface, node string) error {
	for _, o := range nodeRights(node) {
		err := client.RbacV1().RESTClient().Delete().Resource(strings.ToLower(o.GetKind()) + "s").Name(o.GetName()).Do(ctx).Error()
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

// Step applies Objects to the cluster that connect returns.
func Step(nodes []string, connect func() (*rest.Config, error)) step.Step {
	applied := manifests.Applied{
		Connect: connect,
		Objects: func(context.Context) ([]*unstructured.Unstructured, error) { return Objects(nodes) },
	}
	return applied.Step("node-report", "Allow each node to report the state of its host")
}
