package cni_test

import (
	"context"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/cni/cnitest"
	"airgap.dev/airgap/verify/apitest"
)

// TestOperatorFillsIn simulates Calico's operator, which writes its defaults into an Installation and
// replaces whole lists. This must cause no drift and no conflict.
func TestOperatorFillsIn(t *testing.T) {
	upstream, server := cnitest.Serve(t), apitest.Start(t, "--allow-privileged")
	n := network{config: cni.Config{Plugin: cni.Calico, Calico: cni.CalicoConfig{Form: cni.OperatorForm}}}
	n.config.Default()
	fetched, _ := upstream.Fetch(t, n.config, n.cluster())
	s := n.step(server, fetched)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	installations := client.Resource(schema.GroupVersionResource{Group: "operator.tigera.io", Version: "v1", Resource: "installations"})
	live, err := installations.Get(t.Context(), "default", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pools, _, err := unstructured.NestedSlice(live.Object, "spec", "calicoNetwork", "ipPools")
	if err != nil || len(pools) != 1 {
		t.Fatalf("pools %v, %v", pools, err)
	}
	pool := pools[0].(map[string]any)
	// pkg/controller/ippool/defaults.go of the operator, for an IPv4 pool
	for field, assumed := range map[string]any{
		"name": "default-ipv4-ippool", "natOutgoing": "Enabled", "nodeSelector": "all()", "blockSize": int64(26),
		"disableNewAllocations": false, "assignmentMode": "Automatic", "allowedUses": []any{"Workload", "Tunnel"},
	} {
		if !reflect.DeepEqual(pool[field], assumed) {
			t.Errorf("the operator would write %s: %v over %v", field, assumed, pool[field])
		}
	}
	if err := unstructured.SetNestedField(live.Object, "Enabled", "spec", "calicoNetwork", "hostPorts"); err != nil {
		t.Fatal(err)
	}
	if _, err := installations.Update(t.Context(), live, metav1.UpdateOptions{FieldManager: "operator"}); err != nil {
		t.Fatal(err)
	}
	if done, err := s.Done(t.Context()); err != nil || !done {
		t.Errorf("after the operator: done is %v, %v", done, err)
	}
}

// removeWorkloads removes the workloads of a network from the server.
func removeWorkloads(t *testing.T, server *apitest.Server) {
	t.Helper()
	ctx, apps := context.WithoutCancel(t.Context()), server.Client(t).AppsV1()
	for _, namespace := range []string{"kube-flannel", "kube-system", "tigera-operator"} {
		if err := apps.DaemonSets(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			t.Error(err)
		}
		if err := apps.Deployments(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			t.Error(err)
		}
	}
}
