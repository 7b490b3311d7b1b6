package nodereport

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

const fieldManager = "airgap-node-report"

// object is the NodeReport of one node in the cluster.
type object struct {
	live *unstructured.Unstructured // nil before the first read and after a failed write
}

// write needs one request, unless another client changes the object.
func (o *object) write(ctx context.Context, client dynamic.Interface, node string, r Report) (err error) {
	if o.live == nil {
		if o.live, err = read(ctx, client, node); err != nil {
			return err
		}
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&struct {
		Report Report `json:"report"`
	}{r})
	if err != nil {
		return err
	}
	o.live.Object["report"] = content["report"]
	reports := client.Resource(Resource)
	if o.live.GetResourceVersion() == "" {
		o.live, err = reports.Create(ctx, o.live, metav1.CreateOptions{FieldManager: fieldManager})
	} else {
		o.live, err = reports.Update(ctx, o.live, metav1.UpdateOptions{FieldManager: fieldManager})
	}
	return err
}

// read returns the existing object or a new one. The Node owns it, so the garbage collector deletes
// it with the Node. Without a Node, read returns an error.
func read(ctx context.Context, client dynamic.Interface, node string) (*unstructured.Unstructured, error) {
	owner, err := nodes(client).Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("get its Node: %w", err)
	}
	live, err := client.Resource(Resource).Get(ctx, node, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		live, err = &unstructured.Unstructured{Object: map[string]any{}}, nil
		live.SetGroupVersionKind(Kind)
		live.SetName(node)
	}
	if err != nil {
		return nil, err
	}
	live.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node, UID: owner.GetUID()}})
	return live, nil
}

func nodes(client dynamic.Interface) dynamic.ResourceInterface {
	return client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "nodes"})
}

// owner returns the UID of the Node at the last read.
func (o *object) owner() types.UID {
	for _, r := range o.live.GetOwnerReferences() {
		return r.UID
	}
	return ""
}

// Read gets a node's report.
func Read(ctx context.Context, client dynamic.Interface, node string) (*NodeReport, error) {
	live, err := client.Resource(Resource).Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("get NodeReport %s: %w", node, err)
	}
	r := &NodeReport{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, r); err != nil {
		return nil, fmt.Errorf("read NodeReport %s: %w", node, err)
	}
	return r, nil
}
