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

const (
	// listedFile has the name of this host's Node from when the host begins to
	// leave: by the end nothing else on it tells, and only secede can delete it.
	listedFile = host.UndoDir + "/node"
)

// StillListed is the name of the Node that a host which left its cluster could
// not delete, or had no time to; "" for none. A worker never can.
func StillListed(m Member) (string, error) {
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

// others reports whether this is a control-plane host beside others, as far as
// the API server can and may be asked. A cluster that is down has nobody to tell.
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

// secede takes this host out of a control plane that goes on: its member out of
// etcd, whose data then is of no use to anybody, and its Node.
func (m Member) secede(ctx context.Context, client kubernetes.Interface, args []string) error {
	name, err := StillListed(m)
	if err != nil {
		return err
	}
	if err := m.KubeadmReset(ctx, args...); err != nil || name == "" {
		return err
	}
	err = await.Until(ctx, 30*time.Second, func(ctx context.Context) error { // the balancer may still send to this host
		err := client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
	if err != nil {
		return &host.Failure{What: "remove node " + name + " from the cluster", Err: err, Next: "on another control-plane host: kubectl delete node " + name}
	}
	return host.Remove(m.Path(listedFile))
}

// quorumStays is nil when etcd does without this host's member. kubeadm would only warn
// where etcd refuses to let it go, and delete its data all the same.
func (m Member) quorumStays(ctx context.Context) error {
	member, err := m.LocalEtcd()
	if err != nil {
		return ctx.Err() // none, it has left in a run before, or its keys are broken: reset is the way out
	}
	name, err := node.Name(m.Machine)
	if err != nil {
		return err
	}
	all, err := member.Members(ctx)
	if err != nil {
		return ctx.Err() // it is down, or out: the API server answers by the quorum of the others
	}
	return mayLeave(all, name)
}

func mayLeave(all []etcd.Member, name string) error {
	for _, m := range all {
		if m.Of(name, "") {
			if err := etcd.MayGo(all, m); err != nil {
				return err
			}
		}
	}
	return nil
}
