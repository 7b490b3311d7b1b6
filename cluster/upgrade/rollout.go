package upgrade

import (
	"context"
	"crypto/ecdsa"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/clusterlock"
	"airgap.dev/airgap/cluster/fleet"
	"airgap.dev/airgap/cluster/owed"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/upgraderecord"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/drain"
	"airgap.dev/airgap/kubeadm/kube"
)

// rollout changes the hosts of a cluster to a bundle, control-plane hosts one after the other, workers in batches: an
// upgrade to a newer bundle, a rollback to the earlier one.
type rollout struct {
	limits
	site    *site.Site // of the bundle
	target  string     // the bundle's ID
	view    *bundle.View
	trusted []*ecdsa.PublicKey
	fleet   *fleet.Fleet // nil: the user runs the commands on the other hosts
	record  upgraderecord.Record
	journal *step.Journal
	// findings has the workloads of the drained hosts, and the findings that did not stop this run.
	findings upgraderecord.Attributed
	client   kubernetes.Interface
	nodes    map[string]corev1.Node // of the cluster at the start
	p        ui.Progress
	pace     pace

	doneWorkers upgraderecord.Workers
	debts       owed.File
	// Tests without hosts replace runHost, compare and the command for other hosts.
	changing  func(context.Context, config.Node) error
	comparing func(ctx context.Context, hosts ...string) error
	line      func(command string) (string, error)
	// leftOut are the hosts that the fleet goes on without; nil without SSH.
	leftOut func() []fleet.LeftOut

	hand *handwork // of the batch in work, without SSH
}

// limits are the timeouts for hosts, and the skipped rules of verify.
type limits struct {
	rules        []string
	drainTimeout time.Duration // to drain one host
	timeout      time.Duration // until the cluster is healthy
}

// command returns the command for the Lease of the cluster.
func (r *rollout) command(name string, console ui.Console) clusterlock.Command {
	return clusterlock.Command{Machine: r.site.Machine.Machine, Name: name, Node: r.site.Node.Name, Say: ui.Teller(console)}
}

// readNodes reads the nodes of the cluster. After a power loss during the upgrade the API server needs
// time to start.
func (r *rollout) readNodes(ctx context.Context) (err error) {
	if r.client, err = kube.BusyClient(r.site.Machine.Machine, kube.AdminConf); err != nil {
		return err
	}
	if err := r.awaitAPI(ctx); err != nil {
		return advice.Add(err, findCause)
	}
	nodes, err := kube.Retry(ctx, func(ctx context.Context) (*corev1.NodeList, error) {
		return r.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	})
	if err != nil {
		return advice.Add(fmt.Errorf("list the nodes: %w", err), findCause)
	}
	if unlisted := r.recordNodes(nodes.Items); len(unlisted) > 0 {
		return advice.Add(fmt.Errorf("the bundle's airgap.yaml does not list these nodes of the cluster: %s", strings.Join(unlisted, ", ")), "remove each of them with airgap remove, or add it to airgap.yaml again and create the bundle again")
	}
	return nil
}

// findCause is the hint for an API server that does not answer.
const findCause = "find the cause with airgap verify; if an upgrade broke the cluster, roll it back: airgap rollback"

// recordNodes keeps the nodes and, before the first change of the upgrade, the names of cordoned nodes. It
// returns the names of the nodes that airgap.yaml does not list.
func (r *rollout) recordNodes(nodes []corev1.Node) (unlisted []string) {
	r.nodes = map[string]corev1.Node{}
	if !r.record.Changed {
		r.record.Cordoned = []string{} // replaced by the current state: an earlier run may be days old
	}
	for _, n := range nodes {
		r.nodes[n.Name] = n
		if _, err := r.site.Config.Node(n.Name); err != nil {
			unlisted = append(unlisted, n.Name)
		}
		if n.Spec.Unschedulable && !r.record.Changed {
			r.record.Cordoned = append(r.record.Cordoned, n.Name)
		}
	}
	return unlisted
}

// awaitAPI waits until the API server is ready: a server that has just started refuses even
// administrators. Each request has its own timeout of ten seconds, so the error contains the last answer.
func (r *rollout) awaitAPI(ctx context.Context) error {
	var reported bool
	_, err := kube.RetryFor(ctx, r.site.Config.Kubernetes.APITimeout(), func(context.Context) (any, error) {
		_, err := r.client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		if err != nil && !reported {
			reported = true
			r.p.Say("the API server is not ready yet: %v", err)
		}
		if err != nil {
			err = fmt.Errorf("wait for the API server: %v", err) //nolint:errorlint // every answer may change soon, so none stops the wait
		}
		return nil, err
	})
	return err
}

// drainStep returns the step that drains a host, and annotates its Node for its turn.
func (r *rollout) drainStep(n config.Node) step.Step {
	return step.Step{
		Name: "drain", Title: "Drain " + n.Name,
		Done: func(ctx context.Context) (bool, error) {
			node, err := r.client.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			return node.Annotations[site.UpgradeNote] == r.target && (node.Spec.Unschedulable || r.alone(n)), nil
		},
		Run: func(ctx context.Context) error { return r.drain(ctx, n, false) },
	}
}

// drain drains a host, and annotates its Node for its turn. Of many hosts at the same time it only shows the pods that
// stay.
func (r *rollout) drain(ctx context.Context, n config.Node, many bool) error {
	if err := r.noteRan(ctx, n.Name); err != nil {
		return err
	}
	if r.alone(n) {
		r.p.Say("the pods of %s stay, because no other host can run them", n.Name)
	} else if err := drain.Drain(ctx, r.client, n.Name, drain.Options{Timeout: r.drainTimeout, Say: r.p.Say, Held: many}); err != nil {
		return err
	}
	return site.Annotate(ctx, r.client, n.Name, site.UpgradeNote, r.target)
}

// alone reports whether no other host accepts pods.
func (r *rollout) alone(n config.Node) bool {
	for name, other := range r.nodes {
		if name != n.Name && !slices.Contains(r.record.Cordoned, name) && !slices.ContainsFunc(other.Spec.Taints, repelsPods) {
			return false
		}
	}
	return true
}

// uncordonStep returns the step that uncordons a drained host.
func (r *rollout) uncordonStep(n config.Node) step.Step {
	return step.Step{
		Name: "uncordon", Title: "Uncordon " + n.Name,
		Done: func(ctx context.Context) (bool, error) {
			node, err := r.client.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			return r.takesPods(node), nil
		},
		Run: func(ctx context.Context) error { return drain.Uncordon(ctx, r.client, n.Name) },
	}
}
