package load

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// TestObjects encodes a cluster and decodes it as the API server does.
func TestObjects(t *testing.T) {
	c := Cluster{Nodes: 50, Pods: 1000, Images: []string{"registry.k8s.io/kube-proxy@sha256:" + strings.Repeat("a", 64), "quay.io/lab/tools@sha256:" + strings.Repeat("b", 64)}}
	var w Written
	keys := map[string]bool{}
	kinds := map[string]int{}
	for key, object := range c.objects() {
		value, err := stored(object)
		if err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		if _, err := runtime.Decode(scheme.Codecs.UniversalDeserializer(), value); err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		if keys[key] {
			t.Errorf("key %s exists twice", key)
		}
		keys[key] = true
		kind, _, _ := strings.Cut(key, "/")
		kinds[kind]++
		w.count(object, len(value))
	}
	for kind, want := range map[string]int{"minions": 50, "leases": 52, "pods": 1000, "daemonsets": 3} {
		if kinds[kind] != want {
			t.Errorf("got %d %s, want %d", kinds[kind], kind, want)
		}
	}
	if kinds["deployments"] != kinds["replicasets"] {
		t.Errorf("got %d deployments and %d replicasets, want the same number", kinds["deployments"], kinds["replicasets"])
	}
	if size := w.Bytes / int64(w.Pods); size < 5000 || size > 7000 {
		t.Errorf("got %d bytes a pod, want about 6000", size)
	}
}

// TestPodsAreHealthy checks the fields by which verify decides whether a pod is healthy.
func TestPodsAreHealthy(t *testing.T) {
	pod := application(3, replicas).pods([]string{"quay.io/lab/tools@sha256:0"})(nodeName(7), 5)
	if pod.Spec.NodeName != nodeName(7) || pod.Status.Phase != corev1.PodRunning || len(pod.Status.ContainerStatuses) != 2 || len(pod.ManagedFields) != 2 {
		t.Errorf("got %+v, want a running pod with two containers", pod)
	}
	if owner := pod.OwnerReferences[0]; owner.UID != application(3, replicas).replicaSet().UID {
		t.Errorf("got owner %s, want its ReplicaSet", owner.UID)
	}
}
