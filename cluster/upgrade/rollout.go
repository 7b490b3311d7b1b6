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
	"airgap.dev/airgap/cluster/fleet"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/upgraderecord"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/drain"
	"airgap.dev/airgap/kubeadm/kube"
)

// rollout brings the hosts of a cluster to a bundle, one after the other: an upgrade to a
// newer one, a rollback to the one of before.
type rollout struct {
	pace
	site    *site.Site // as the bundle has it
	target  string     // the bundle's ID
	view    *bundle.View
	trusted []*ecdsa.PublicKey
	fleet   *fleet.Fleet // nil: the other hosts are worked on by hand
	record  upgraderecord.Record
	journal *step.Journal
	client  kubernetes.Interface
	nodes   map[string]corev1.Node // of the cluster, as they were at the start
	p       ui.Progress
}

// pace is how long the hosts may take, and which of verify's rules are left out.
type pace struct {
	rules        []string
	drainTimeout time.Duration // for the pods of one host to leave it
	timeout      time.Duration // for the cluster to be well
}

// look asks the cluster for its nodes. After a power cut amid the upgrade the API server
// takes its time.
func (r *rollout) look(ctx context.Context) (err error) {
	if r.client, err = kube.Client(r.site.Machine.Machine, kube.AdminConf); err != nil {
		return err
	}
	if err := r.awaitAPI(ctx); err != nil {
		return advice.Add(err, "airgap verify says what is wrong with the cluster; airgap rollback takes an upgrade back that broke it")
	}
	nodes, err := kube.Patiently(ctx, func(ctx context.Context) (*corev1.NodeList, error) {
		return r.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	})
	if err != nil {
		return advice.Add(fmt.Errorf("list the nodes: %w", err), "airgap verify says what is wrong with the cluster; airgap rollback takes an upgrade back that broke it")
	}
	if strangers := r.know(nodes.Items); len(strangers) > 0 {
		return advice.Add(fmt.Errorf("nodes of the cluster that the bundle's airgap.yaml does not have: %s", strings.Join(strangers, ", ")), "airgap remove takes a node out of the cluster; or put it back into airgap.yaml and make the bundle anew")
	}
	return nil
}

// know takes the nodes down, and which of them are cordoned as long as no upgrade may have
// done that. It returns those that airgap.yaml does not have.
func (r *rollout) know(nodes []corev1.Node) (strangers []string) {
	r.nodes = map[string]corev1.Node{}
	if !r.record.Changed {
		r.record.Cordoned = []string{} // as it is now: an earlier run may have ended days ago
	}
	for _, n := range nodes {
		r.nodes[n.Name] = n
		if _, err := r.site.Config.Node(n.Name); err != nil {
			strangers = append(strangers, n.Name)
		}
		if n.Spec.Unschedulable && !r.record.Changed {
			r.record.Cordoned = append(r.record.Cordoned, n.Name)
		}
	}
	return strangers
}

// awaitAPI waits until the API server says that it is ready: till then one that was just
// started refuses even administrators. Each question has its own end, ten seconds, so
// that what is told in the end is what the last one was answered.
func (r *rollout) awaitAPI(ctx context.Context) error {
	var said bool
	_, err := kube.PatientlyFor(ctx, r.site.Config.Kubernetes.APIPatience(), func(context.Context) (any, error) {
		_, err := r.client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		if err != nil && !said {
			said = true
			r.p.Say("the API server is not ready yet: %v", err)
		}
		if err != nil {
			err = fmt.Errorf("wait for the API server: %v", err) //nolint:errorlint // whatever it answers may be another answer soon
		}
		return nil, err
	})
	return err
}

// drainStep lets a host's pods go elsewhere, and says on its Node that its turn has
// come.
func (r *rollout) drainStep(n config.Node) step.Step {
	return step.Step{
		Name: "drain", Title: "Let the pods of " + n.Name + " go elsewhere",
		Done: func(ctx context.Context) (bool, error) {
			node, err := r.client.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			return node.Annotations[site.UpgradeNote] == r.target && (node.Spec.Unschedulable || r.alone(n)), nil
		},
		Run: func(ctx context.Context) error { return r.drain(ctx, n) },
	}
}

func (r *rollout) drain(ctx context.Context, n config.Node) error {
	if r.alone(n) {
		r.p.Say("the pods of %s stay: there is no other host for them", n.Name)
	} else if err := drain.Drain(ctx, r.client, n.Name, drain.Options{Timeout: r.drainTimeout, Say: r.p.Say}); err != nil {
		return err
	}
	return site.Annotate(ctx, r.client, n.Name, site.UpgradeNote, r.target)
}

// alone reports whether no other host takes pods.
func (r *rollout) alone(n config.Node) bool {
	for name, other := range r.nodes {
		if name != n.Name && !slices.Contains(r.record.Cordoned, name) && !slices.ContainsFunc(other.Spec.Taints, keepsPodsOff) {
			return false
		}
	}
	return true
}

// releaseStep lets pods come to a host again that was drained.
func (r *rollout) releaseStep(n config.Node) step.Step {
	return step.Step{
		Name: "uncordon", Title: "Let pods come to " + n.Name + " again",
		Done: func(ctx context.Context) (bool, error) {
			node, err := r.client.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			return r.released(node), nil
		},
		Run: func(ctx context.Context) error { return drain.Uncordon(ctx, r.client, n.Name) },
	}
}
