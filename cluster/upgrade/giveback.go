package upgrade

import (
	"context"
	"errors"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/remote"
	"airgap.dev/airgap/kubeadm/drain"
	"airgap.dev/airgap/kubeadm/kube"
)

// kubeletAnswers is how long a kubelet may need to renew its lease, which it does every 10 seconds.
const kubeletAnswers = 30 * time.Second

// giveBack uncordons a worker that failed, if its kubelet works: the cluster needs its capacity. It returns the
// failure. A worker stays cordoned if its kubelet does not work, or if airgap may still be at work there.
func (r *rollout) giveBack(ctx context.Context, n config.Node, failed error) error {
	switch {
	case ctx.Err() != nil || slices.Contains(r.record.Cordoned, n.Name):
	case errors.Is(failed, remote.ErrLost):
		r.p.Say("%s stays cordoned: the connection was lost, and airgap may still be at work there", n.Name)
	case !kubeletWorks(ctx, r.client, n.Name):
		r.p.Say("%s stays cordoned: its kubelet does not work", n.Name)
	default:
		err := site.Annotate(ctx, r.client, n.Name, site.UpgradeNote, "")
		if err == nil {
			err = drain.Uncordon(ctx, r.client, n.Name)
		}
		if err != nil {
			return errors.Join(failed, err)
		}
		r.p.Say("%s is uncordoned: its kubelet works", n.Name)
	}
	return failed
}

// kubeletWorks reports whether a node is ready and its kubelet renews its lease. A node stays ready for most of a
// minute after its kubelet has stopped.
func kubeletWorks(ctx context.Context, client kubernetes.Interface, name string) bool {
	var first time.Time
	for end := time.Now().Add(kubeletAnswers); time.Now().Before(end); {
		node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err == nil && !kube.NodeReady(node) {
			return false
		}
		lease, errLease := client.CoordinationV1().Leases("kube-node-lease").Get(ctx, name, metav1.GetOptions{})
		if err == nil && errLease == nil && lease.Spec.RenewTime != nil {
			switch renewed := lease.Spec.RenewTime.Time; {
			case first.IsZero():
				first = renewed
			case renewed.After(first):
				return true
			}
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(2 * time.Second):
		}
	}
	return false
}
