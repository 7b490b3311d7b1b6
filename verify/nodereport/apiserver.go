package nodereport

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// QueryAPIServer returns whether one API server is ready, and the age of its cache. The client
// connects to that server only and has the identity of the node.
//
// The age is the difference between the node's lease in etcd and in the cache. Both times are
// from this host's kubelet, so no two clocks are compared.
func QueryAPIServer(ctx context.Context, client kubernetes.Interface, node string) *APIServer {
	body, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	if err != nil {
		return &APIServer{Error: unready(string(body), err)}
	}
	stored, err := renewed(ctx, client, node, "")
	if err != nil {
		return &APIServer{Error: fmt.Sprintf("it is ready, but does not read this node's lease from etcd: %v", plain(err))}
	}
	cached, err := renewed(ctx, client, node, "0")
	if err != nil {
		return &APIServer{Error: fmt.Sprintf("it is ready, but does not read this node's lease from its cache: %v", plain(err))}
	}
	return &APIServer{Behind: max(0, int64(stored.Sub(cached)/time.Second))}
}

// renewed returns when the kubelet last renewed the node's lease, at a resource version: ""
// reads from etcd, "0" from the cache.
func renewed(ctx context.Context, client kubernetes.Interface, node, version string) (time.Time, error) {
	var lease *coordinationv1.Lease
	lease, err := client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(ctx, node, metav1.GetOptions{ResourceVersion: version})
	if err != nil {
		return time.Time{}, err
	}
	if lease.Spec.RenewTime == nil {
		return time.Time{}, errors.New("the lease has no renewTime")
	}
	return lease.Spec.RenewTime.Time, nil
}

// unready returns the names of the checks that failed. A line of the body is, for example,
// "[-]etcd failed: reason withheld".
func unready(body string, err error) string {
	var failed []string
	for line := range strings.Lines(body) {
		if check, is := strings.CutPrefix(line, "[-]"); is {
			name, _, _ := strings.Cut(check, " ")
			failed = append(failed, name)
		}
	}
	if len(failed) > 0 {
		return "it is not ready: " + strings.Join(failed, ", ")
	}
	return plain(err).Error()
}
