package upgrade

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/cluster/owed"
	"airgap.dev/airgap/internal/batches"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/hostrange"
	"airgap.dev/airgap/internal/stop"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/kube"
)

// group is a batch of workers in a run.
type group struct {
	nodes  []config.Node
	canary bool
	left   int // workers of this run after it
	rest   int // batches of this run after it
}

func (g group) names() []string {
	var names []string
	for _, n := range g.nodes {
		names = append(names, n.Name)
	}
	return names
}

// maxLabel is the longest list of hosts in the name of a step.
const maxLabel = 48

// label names hosts in the names of steps: w1, w[2-31], w2+29. One host has the name that older versions gave its step.
func label(names []string) string {
	text := strings.ReplaceAll(hostrange.Join(names), ", ", ",")
	if len(names) > 1 && len(text) > maxLabel {
		return fmt.Sprintf("%s+%d", names[0], len(names)-1)
	}
	return text
}

// title names the hosts of a group in the title of a step.
func (g group) title() string {
	if len(g.nodes) == 1 {
		return g.nodes[0].Name
	}
	return fmt.Sprintf("%s: %s", ui.Count(len(g.nodes), "worker"), hostrange.Join(g.names()))
}

// rackOf returns the rack of a node: by its subnet if airgap.yaml names none.
func rackOf(n config.Node) string {
	if n.Rack != "" {
		return "rack " + n.Rack
	}
	address, err := netip.ParseAddr(n.Address)
	if err != nil {
		return ""
	}
	subnet, err := address.Prefix(24)
	if err != nil {
		return ""
	}
	return subnet.String()
}

// groups divides the workers that are left into batches, for this run only. workers is the number of all workers.
func (r *rollout) groups(left []config.Node, workers int) []group {
	var hosts []batches.Host
	nodes := map[string]config.Node{}
	for _, n := range left {
		hosts = append(hosts, batches.Host{Name: n.Name, Rack: rackOf(n), GPU: n.Has(config.GPU)})
		nodes[n.Name] = n
	}
	r.pace.setSize(r.site.Config.Upgrade, workers)
	all := batches.Plan(hosts, batches.Policy{Size: r.pace.size, ByRack: r.site.Config.Upgrade.ByRack, Proved: !r.pace.unproved[false], ProvedGPU: !r.pace.unproved[true]})
	r.pace.todo = append(r.pace.todo, batches.Names(all)...)
	if r.pace.Hosts > 0 {
		all = batches.First(all, int(r.pace.Hosts))
	}
	total := len(batches.Names(all))
	var groups []group
	for i, b := range all {
		g := group{canary: b.Canary, rest: len(all) - i - 1}
		for _, name := range b.Hosts {
			g.nodes = append(g.nodes, nodes[name])
		}
		total -= len(b.Hosts)
		g.left = total
		groups = append(groups, g)
	}
	return groups
}

// complete reports whether the steps after the workers belong to this run: no worker is left to a later run, except for
// those that --except leaves out. settled reports whether a worker needs no work.
func (r *rollout) complete(groups []group, left []config.Node, settled func(name string) bool) bool {
	p := &r.pace
	p.later = nil
	for _, n := range r.site.Config.Nodes {
		if p.out[n.Name] && !p.except[n.Name] && !settled(n.Name) {
			p.later = append(p.later, n.Name)
		}
	}
	inRun := 0
	for _, g := range groups {
		inRun += len(g.nodes)
	}
	return len(p.later) == 0 && inRun == len(left)
}

// change works on the workers of a group at the same time. do must be safe to repeat.
func (r *rollout) change(ctx context.Context, g group, do func(context.Context, config.Node) error) error {
	nodes := map[string]config.Node{}
	for _, n := range g.nodes {
		nodes[n.Name] = n
	}
	defer r.shareDebts(ctx)
	if r.fleet == nil && len(nodes) > 1 {
		var err error
		if r.hand, err = newHandwork(r, g.nodes); err != nil {
			return err
		}
		defer func() { r.hand.close(); r.hand = nil }()
	}
	return r.batch(ctx, g, nodes, do).Run(ctx)
}

// batch is the work on a group.
func (r *rollout) batch(ctx context.Context, g group, nodes map[string]config.Node, do func(context.Context, config.Node) error) batches.Work {
	return batches.Work{
		Hosts: r.pace.ok(g), Alone: g.canary || !r.pace.proved(g), Max: r.pace.most(r.site.Config.Upgrade), Unavailable: r.unavailable, Patience: r.timeout, Say: r.p.Say,
		May: func() error {
			if stop.IsAsked(ctx) {
				return r.stopped("Ctrl-C", stop.ErrInterrupted)
			}
			return nil
		},
		Do: func(ctx context.Context, name string) error {
			err := r.hand.during(name, func() error { return do(ctx, nodes[name]) })
			if err != nil {
				return r.giveBack(ctx, nodes[name], err)
			}
			return nil
		},
		Failed: func(name string, err error) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return r.fail(name, err)
		},
	}
}

// inJournal reports whether the journal is enough to record that a group is done: it cannot record a part of one.
func (p *pace) inJournal(g group) bool { return len(g.nodes) == 1 && p.Choice.MaxFailures == 0 }

// ok returns the workers of a group that have not failed in this run.
func (p *pace) ok(g group) []string { return slices.DeleteFunc(g.names(), p.hasFailed) }

// proved reports whether a worker of the kind of this group was changed before.
func (p *pace) proved(g group) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.unproved[g.nodes[0].Has(config.GPU)]
}

// prove notes that a worker of this kind was changed.
func (p *pace) prove(n config.Node) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unproved == nil {
		p.unproved = map[bool]bool{false: true, true: true}
	}
	if !n.Has(config.ControlPlane) {
		p.unproved[n.Has(config.GPU)] = false
	}
}

// changed notes that a host is done.
func (r *rollout) changed(n config.Node) error {
	p := &r.pace
	p.prove(n)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done == nil {
		p.done = map[string]bool{}
	}
	p.done[n.Name] = true
	return r.debts.Done(n.Name, owed.Upgrade, owed.Rollback) // each replaces the other
}

// unavailable returns the workers that take no pods: cordoned ones, and those that are not ready. Absent workers of
// airgap.yaml are not counted.
func (r *rollout) unavailable(ctx context.Context) ([]string, error) {
	nodes, err := kube.Retry(ctx, func(ctx context.Context) (*corev1.NodeList, error) {
		return r.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	})
	if err != nil {
		return nil, fmt.Errorf("list the nodes: %w", err)
	}
	var names []string
	for i := range nodes.Items {
		n := &nodes.Items[i]
		known, err := r.site.Config.Node(n.Name)
		if err != nil || known.Has(config.ControlPlane) || known.Absent != nil {
			continue
		}
		if n.Spec.Unschedulable || !kube.NodeReady(n) {
			names = append(names, n.Name)
		}
	}
	return names, nil
}

// took notes the time of a group, and says how long the rest takes.
func (p *pace) took(g group, say func(format string, args ...any)) {
	if p.began.IsZero() || len(g.nodes) == 0 {
		return
	}
	p.times.Add(time.Since(p.began))
	p.began = time.Time{}
	if g.rest == 0 {
		return
	}
	how := "one at a time"
	if p.size > 1 {
		how = fmt.Sprintf("in batches of %d", p.size)
	}
	say("about %s left for %s, %s", batches.About(p.times.Left(g.rest)), ui.Count(g.left, "worker"), how)
}
