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

// AskAPIServer asks one API server whether it is ready, and how old what it has in its cache
// is. The client leads to that server alone and has the identity of the node.
//
// The age is that of the node's lease: the one in etcd against the one in the cache. Both
// times are from this host's kubelet, so no two clocks are compared.
func AskAPIServer(ctx context.Context, client kubernetes.Interface, node string) *APIServer {
	body, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	if err != nil {
		return &APIServer{Error: unready(string(body), err)}
	}
	stored, err := renewed(ctx, client, node, "")
	if err != nil {
		return &APIServer{Error: fmt.Sprintf("it is ready, and does not read this node's lease from etcd: %v", plain(err))}
	}
	cached, err := renewed(ctx, client, node, "0")
	if err != nil {
		return &APIServer{Error: fmt.Sprintf("it is ready, and does not read this node's lease from its cache: %v", plain(err))}
	}
	return &APIServer{Behind: max(0, int64(stored.Sub(cached)/time.Second))}
}

// renewed is when the kubelet last renewed the node's lease, as of a resource version: "" is
// etcd's, "0" is the cache's.
func renewed(ctx context.Context, client kubernetes.Interface, node, version string) (time.Time, error) {
	var lease *coordinationv1.Lease
	lease, err := client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(ctx, node, metav1.GetOptions{ResourceVersion: version})
	if err != nil {
		return time.Time{}, err
	}
	if lease.Spec.RenewTime == nil {
		return time.Time{}, errors.New("it says no time")
	}
	return lease.Spec.RenewTime.Time, nil
}

// unready names the checks that failed, of an answer such as "[-]etcd failed: reason withheld".
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
