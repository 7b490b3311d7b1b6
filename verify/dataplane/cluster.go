package dataplane

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// askLimit is for one request to the API server.
const askLimit = 10 * time.Second

// peer is a ready pod of ours on a node.
type peer struct {
	node    string
	address netip.AddrPort
}

// reached is how the pods are called other than one by one.
type reached struct {
	address  netip.AddrPort // the cluster's own for it
	nodePort uint16
}

// peers are the pods that the Service sends callers to, sorted by node. They
// are read from the API server's cache, which spares etcd.
func peers(ctx context.Context, client kubernetes.Interface) ([]peer, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	found, err := client.DiscoveryV1().EndpointSlices(Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: discoveryv1.LabelServiceName + "=" + Name, ResourceVersion: "0",
	})
	if err != nil {
		return nil, fmt.Errorf("list the pods of Service %s/%s: %w", Namespace, Name, err)
	}
	var all []peer
	for _, slice := range found.Items {
		for _, e := range slice.Endpoints {
			all = append(all, peersOf(slice, e)...)
		}
	}
	slices.SortFunc(all, func(a, b peer) int { return cmp.Compare(a.node, b.node) })
	return slices.CompactFunc(all, func(a, b peer) bool { return a.node == b.node }), nil
}

// peersOf is the endpoint's pod, or nothing where it is not ready or not on a
// node. A condition that is not said counts as true.
func peersOf(slice discoveryv1.EndpointSlice, e discoveryv1.Endpoint) []peer {
	ready := e.Conditions.Ready == nil || *e.Conditions.Ready
	if !ready || e.NodeName == nil || len(e.Addresses) == 0 || len(slice.Ports) == 0 || slice.Ports[0].Port == nil {
		return nil
	}
	address, err := netip.ParseAddr(e.Addresses[0])
	if err != nil || !address.Is4() {
		return nil
	}
	return []peer{{node: *e.NodeName, address: netip.AddrPortFrom(address, uint16(*slice.Ports[0].Port))}}
}

// ownService asks how the Service is reached; where that cannot be told, it is
// as it was.
func ownService(ctx context.Context, client kubernetes.Interface, was reached) (reached, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	s, err := client.CoreV1().Services(Namespace).Get(ctx, Name, metav1.GetOptions{ResourceVersion: "0"})
	if err != nil {
		return was, fmt.Errorf("ask for Service %s/%s: %w", Namespace, Name, err)
	}
	address, err := netip.ParseAddr(s.Spec.ClusterIP)
	if err != nil || len(s.Spec.Ports) == 0 {
		return was, fmt.Errorf("read Service %s/%s: it has the address %q and %d ports", Namespace, Name, s.Spec.ClusterIP, len(s.Spec.Ports))
	}
	p := s.Spec.Ports[0]
	return reached{address: netip.AddrPortFrom(address, uint16(p.Port)), nodePort: uint16(p.NodePort)}, nil
}

// tell writes the condition into the pod's status. since is when it began to
// be what it is.
func tell(ctx context.Context, client kubernetes.Interface, pod string, failures []Failure, since time.Time) error {
	c := corev1.PodCondition{Type: Condition, Status: corev1.ConditionTrue, Reason: answered, LastTransitionTime: metav1.NewTime(since)}
	if len(failures) > 0 {
		c.Status, c.Reason, c.Message = corev1.ConditionFalse, unanswered, message(failures)
	}
	// Conditions merge by their type, so the kubelet's stay as they are.
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": []corev1.PodCondition{c}}})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	if _, err := client.CoreV1().Pods(Namespace).Patch(ctx, pod, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		return fmt.Errorf("write condition %s of pod %s/%s: %w", Condition, Namespace, pod, err)
	}
	return nil
}
