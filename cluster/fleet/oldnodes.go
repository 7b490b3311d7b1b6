package fleet

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/preflight"
)

const nodesTimeout = 5 * time.Second

// nodesNow returns the nodes of the cluster by name. There are none before the installation, or if the API server does
// not answer: the command reports this elsewhere.
func (p *Policy) nodesNow(ctx context.Context) map[string]*corev1.Node {
	client, err := kube.Client(p.fleet.site.Machine.Machine, kube.AdminConf)
	if err != nil {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, nodesTimeout)
	defer cancel()
	list, err := client.CoreV1().Nodes().List(limited, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil
	}
	all := map[string]*corev1.Node{}
	for i := range list.Items {
		all[list.Items[i].Name] = &list.Items[i]
	}
	return all
}

// current returns the nodes that have the bundle of this command: the command owes them nothing.
func (p *Policy) current(ctx context.Context) map[string]bool {
	if p.fleet.site.Index == nil {
		return nil
	}
	all := map[string]bool{}
	for name, n := range p.nodesNow(ctx) {
		all[name] = site.Noted(n, site.BundleNote, p.fleet.site.Index.ID()) == nil
	}
	return all
}

// nameNotReady adds the way out to the error of a host that is a node and not Ready: its host may be dead.
func (p *Policy) nameNotReady(ctx context.Context) {
	failed := p.failed()
	if len(failed) == 0 || ctx.Err() != nil {
		return
	}
	nodes := p.nodesNow(ctx)
	for _, m := range failed {
		if n := nodes[m.Node.Name]; n != nil && !kube.NodeReady(n) {
			next := advice.Of(m.Err)
			if next != "" {
				next += "; "
			}
			next += fmt.Sprintf("if the host is dead, airgap remove %s --force removes the node", m.Node.Name)
			if p.choosable && (!p.masters || !m.Node.Has(config.ControlPlane)) {
				next += "; if it comes back later, leave it out with --except " + m.Node.Name
			}
			m.Err = advice.Replace(fmt.Errorf("%w; its node is not Ready", m.Err), "%s", next)
		}
	}
}

// withoutFailed leaves out the hosts whose checks failed: new hosts within --max-failures, and nodes if they would stop
// new hosts. It returns the reports of the other hosts, and false if failed checks stop the command: also those of this
// host, in own. reports are those of the members, in this order.
func (p *Policy) withoutFailed(own preflight.Report, reports []preflight.Report) (passed []preflight.Report, goOn bool) {
	if !own.Passed() {
		return nil, false
	}
	var old, others []*Member
	adds := p.fleet.tolerant && slices.ContainsFunc(p.fleet.Members, func(m *Member) bool { return !m.Joined })
	for i, m := range p.fleet.Members {
		switch {
		case reports[i].Passed():
			passed = append(passed, reports[i])
			continue
		case adds && m.Joined && !m.Node.Has(config.ControlPlane):
			old = append(old, m)
		default:
			others = append(others, m)
		}
		m.Err = advice.Add(fmt.Errorf("preflight failed: %s%s", failedIDs(reports[i]), failedChecks(reports[i])), "airgap docs NAME shows the page of a check")
	}
	if len(others) > 0 && !p.allows(others) {
		return nil, false
	}
	for _, m := range old {
		p.tolerated++
		p.leaveOut(m, "a node, whose checks do not stop new nodes")
	}
	for _, m := range others {
		p.leaveOut(m, "not ready")
	}
	return passed, true
}

// failedIDs names the failed checks in one line.
func failedIDs(report preflight.Report) string {
	var ids []string
	for _, r := range report.Results {
		if r.Status == preflight.Fail || r.Status == preflight.Error {
			ids = append(ids, r.ID)
		}
	}
	return strings.Join(ids, ", ")
}
