package dataplane

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"time"
)

// peer is a ready pod of the DaemonSet on a node.
type peer struct {
	node    string
	address netip.AddrPort
}

// reached has the addresses of the Service.
type reached struct {
	address  netip.AddrPort // cluster IP
	nodePort uint16
}

// endpointSlice has the required fields of a discovery.k8s.io/v1 EndpointSlice.
type endpointSlice struct {
	Endpoints []endpoint `json:"endpoints"`
	Ports     []struct {
		Port *uint16 `json:"port"`
	} `json:"ports"`
}

type endpoint struct {
	Addresses  []string `json:"addresses"`
	NodeName   string   `json:"nodeName"`
	Conditions struct {
		Ready *bool `json:"ready"`
	} `json:"conditions"`
}

// service has the required fields of a v1 Service.
type service struct {
	Spec struct {
		ClusterIP string `json:"clusterIP"`
		Ports     []struct {
			Port     uint16 `json:"port"`
			NodePort uint16 `json:"nodePort"`
		} `json:"ports"`
	} `json:"spec"`
}

// condition is a v1 PodCondition.
type condition struct {
	Type    string    `json:"type"`
	Status  string    `json:"status"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Since   time.Time `json:"lastTransitionTime"`
}

// peers returns the ready pods of the Service, sorted by node. It reads from the API server's cache,
// without load on etcd.
func (a *API) peers(ctx context.Context) ([]peer, error) {
	var found struct {
		Items []endpointSlice `json:"items"`
	}
	const path = "/apis/discovery.k8s.io/v1/namespaces/" + Namespace + "/endpointslices?resourceVersion=0&labelSelector=kubernetes.io%2Fservice-name%3D" + Name
	if err := a.get(ctx, path, &found); err != nil {
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

// peersOf returns the endpoint's pod, or nil if it is not ready or not on a node. A missing ready
// condition counts as true.
func peersOf(slice endpointSlice, e endpoint) []peer {
	ready := e.Conditions.Ready == nil || *e.Conditions.Ready
	if !ready || e.NodeName == "" || len(e.Addresses) == 0 || len(slice.Ports) == 0 || slice.Ports[0].Port == nil {
		return nil
	}
	address, err := netip.ParseAddr(e.Addresses[0])
	if err != nil || !address.Is4() {
		return nil
	}
	return []peer{{node: e.NodeName, address: netip.AddrPortFrom(address, *slice.Ports[0].Port)}}
}

// ownService returns the addresses of the Service, or was with an error.
func (a *API) ownService(ctx context.Context, was reached) (reached, error) {
	var s service
	if err := a.get(ctx, "/api/v1/namespaces/"+Namespace+"/services/"+Name+"?resourceVersion=0", &s); err != nil {
		return was, fmt.Errorf("get Service %s/%s: %w", Namespace, Name, err)
	}
	address, err := netip.ParseAddr(s.Spec.ClusterIP)
	if err != nil || len(s.Spec.Ports) == 0 {
		return was, fmt.Errorf("read Service %s/%s: it has the address %q and %d ports", Namespace, Name, s.Spec.ClusterIP, len(s.Spec.Ports))
	}
	p := s.Spec.Ports[0]
	return reached{address: netip.AddrPortFrom(address, p.Port), nodePort: p.NodePort}, nil
}

// writeCondition writes the condition to the pod's status. since is its lastTransitionTime.
func (a *API) writeCondition(ctx context.Context, pod string, failures []Failure, since time.Time) error {
	c := condition{Type: Condition, Status: "True", Reason: answered, Since: since.UTC().Truncate(time.Second)}
	if len(failures) > 0 {
		c.Status, c.Reason, c.Message = "False", unanswered, message(failures)
	}
	// Conditions merge by type, so those of the kubelet do not change.
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": []condition{c}}})
	if err != nil {
		return err
	}
	path := "/api/v1/namespaces/" + Namespace + "/pods/" + pod + "/status"
	if _, err := a.ask(ctx, http.MethodPatch, path, "application/strategic-merge-patch+json", patch); err != nil {
		return fmt.Errorf("write condition %s of pod %s/%s: %w", Condition, Namespace, pod, err)
	}
	return nil
}
