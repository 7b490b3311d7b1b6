package leave

import (
	"context"
	"os"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/internal/await"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/etcd"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/node"
)

// listedFile has the name of this host's Node while the host leaves the cluster: no other file has
// it at the end. removeNode deletes the file with the Node.
const listedFile = host.UndoDir + "/node"

// RemainingNode returns the name of the Node that this host could not delete when it left its
// cluster; "" for none. A worker has no right to delete its Node.
func RemainingNode(m Member) (string, error) {
	name, err := os.ReadFile(m.Path(listedFile))
	return strings.TrimSpace(string(name)), host.IgnoreMissing(err)
}

func (m Member) noteListed() error {
	name, err := node.Name(m.Machine)
	if err != nil || name == "" {
		return err
	}
	return host.WriteFile(m.Path(listedFile), []byte(name+"\n"), 0o644)
}

// others reports whether the cluster has other control-plane hosts, and returns a client for it. It
// is false if the API server does not answer, or if Alone is set.
func (m Member) others(ctx context.Context) (kubernetes.Interface, bool) {
	if m.Alone {
		return nil, false
	}
	client, err := kube.Client(m.Machine, kube.AdminConf)
	if err != nil {
		return nil, false
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: kube.ControlPlaneLabel})
	return client, err == nil && len(nodes.Items) > 1
}

// removeNode removes this host from a control plane with other hosts: kubeadm reset removes its etcd
// member and data, then removeNode deletes its Node.
func (m Member) removeNode(ctx context.Context, client kubernetes.Interface, args []string) error {
	name, err := RemainingNode(m)
	if err != nil {
		return err
	}
	if err := m.KubeadmReset(ctx, args...); err != nil || name == "" {
		return err
	}
	err = await.Until(ctx, 30*time.Second, func(ctx context.Context) error { // the load balancer may still select this host
		err := client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
	if err != nil {
		return &host.Failure{What: "remove node " + name + " from the cluster", Err: err, Next: "run kubectl delete node " + name + " on another control-plane host"}
	}
	return host.Remove(m.Path(listedFile))
}

// quorumStays returns nil if etcd keeps its quorum without this host's member. If etcd refuses the
// removal, kubeadm reset only warns and deletes the member's data.
func (m Member) quorumStays(ctx context.Context) error {
	member, err := m.LocalEtcd()
	if err != nil {
		return ctx.Err() // no member, an earlier run removed it, or its keys are damaged: reset continues
	}
	name, err := node.Name(m.Machine)
	if err != nil {
		return err
	}
	all, err := member.Members(ctx)
	if err != nil {
		return ctx.Err() // the member is down or removed: the other members still have a quorum
	}
	return mayLeave(all, name)
}

func mayLeave(all []etcd.Member, name string) error {
	for _, m := range all {
		if m.Of(name, "") {
			if err := etcd.CanRemove(all, m); err != nil {
				return err
			}
		}
	}
	return nil
}
