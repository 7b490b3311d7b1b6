package removal

import (
	"context"
	"fmt"
	"io"
	"strings"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/verification"
	"airgap.dev/airgap/internal/alike"
	"airgap.dev/airgap/internal/hostrange"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/leave"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/registry/trust"
)

// Plan contains the steps of airgap remove; it is the result of --dry-run.
type Plan struct {
	*NodePlan            // of a single node
	Nodes     []NodePlan `json:"nodes,omitempty"` // of several, in the order of their removal
	After     []string   `json:"after,omitempty"` // steps after the removal of several nodes
	Notes     []string   `json:"notes"`           // losses for the cluster
}

// NodePlan has the steps for one node.
type NodePlan struct {
	Node  string   `json:"node"`
	Steps []string `json:"steps"`
}

// changes are the steps for the journal.
func (p Plan) changes() []string {
	if p.NodePlan != nil {
		return p.Steps
	}
	var all []string
	for _, n := range p.Nodes {
		all = append(all, n.Node+": "+strings.Join(n.Steps, "; "))
	}
	return append(all, p.After...)
}

func (p Plan) Write(w io.Writer) error {
	if p.NodePlan != nil {
		fmt.Fprintf(w, "airgap remove removes %s from the cluster:\n", p.Node)
		for i, s := range p.Steps {
			fmt.Fprintf(w, "  %d. %s\n", i+1, s)
		}
	} else {
		p.writeNodes(w)
	}
	for _, n := range p.Notes {
		fmt.Fprintln(w, "Note: "+n)
	}
	return nil
}

// writeNodes writes the plans of several nodes, equal ones together.
func (p Plan) writeNodes(w io.Writer) {
	var said []alike.Said
	for _, n := range p.Nodes {
		var text strings.Builder
		for i, s := range n.Steps {
			fmt.Fprintf(&text, "\n%d. %s", i+1, s)
		}
		said = append(said, alike.Said{Host: n.Node, Text: text.String()})
	}
	fmt.Fprintf(w, "airgap remove removes %s from the cluster, one after the other:\n%s\n", ui.Count(len(p.Nodes), "node"),
		strings.Join(alike.Lines(said, "--dry-run --output json has their steps"), "\n"))
	for _, s := range p.After {
		fmt.Fprintf(w, "  at the end: %s\n", s)
	}
}

// plan returns the plan as text.
func (r *removal) plan(ctx context.Context) (Plan, error) {
	var plans []NodePlan
	for _, t := range r.targets {
		plans = append(plans, NodePlan{Node: t.node.Name, Steps: r.steps(t)})
	}
	it := map[bool]string{true: "it", false: "them"}[len(plans) == 1]
	lists := "remove " + it + " from the lists of this host for registries and firewall"
	if r.fleet != nil {
		lists += ", and from those of the other hosts through SSH"
	}
	notes, err := r.notes(ctx)
	if len(plans) > 1 {
		return Plan{Nodes: plans, After: []string{lists}, Notes: notes}, err
	}
	plans[0].Steps = append(plans[0].Steps, lists)
	return Plan{NodePlan: &plans[0], Notes: notes}, err
}

// steps are those of one node.
func (r *removal) steps(t *target) (steps []string) {
	add := func(format string, args ...any) { steps = append(steps, fmt.Sprintf(format, args...)) }
	d := t.leaving
	if !r.options.Force && d.Node != nil && !d.Drained() {
		add("drain the node within its PodDisruptionBudgets, at most %s", r.options.Timeout)
	}
	if d.Silent != nil && r.options.Force {
		add("do not connect to its host, because it is dead: %v", d.Silent)
	}
	if t.member != nil {
		add("run airgap reset on its host through SSH: it undoes the changes of airgap and keeps the data")
	}
	for _, m := range d.Own {
		add("remove its member %s from etcd", m.Called())
	}
	add("delete its Node, its NodeReport and its join tokens")
	return steps
}

// notes returns facts that the user should know before the confirmation.
func (r *removal) notes(ctx context.Context) ([]string, error) {
	var all []*leave.NodeRemoval
	var registries []string // of the hosts that answer
	for _, t := range r.targets {
		all = append(all, t.leaving)
		if len(t.leaving.Own) > 0 && t.leaving.Silent == nil {
			registries = append(registries, t.node.Name)
		}
	}
	notes, err := all[0].Notes(ctx, all[1:]...)
	if err != nil || len(registries) == 0 || r.site.Config.Registry.Existing != nil {
		return notes, err
	}
	at, err := verification.RegistriesAt(r.site.Registries(), trust.PKI{Dir: site.PKIDir}.CAFile())
	if err != nil {
		return nil, err
	}
	for _, d := range registry.Compare(ctx, at) {
		notes = append(notes, fmt.Sprintf("the registries differ, and images that only %s has are lost: %s: %s", hostrange.Join(registries), d.Object, strings.TrimSpace(d.Saw)))
	}
	return notes, nil
}
