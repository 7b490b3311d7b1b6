package removal

import (
	"context"
	"fmt"
	"io"
	"strings"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/verification"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/registry/trust"
)

// Plan contains the steps of airgap remove; it is the result of --dry-run.
type Plan struct {
	Node  string   `json:"node"`
	Steps []string `json:"steps"`
	Notes []string `json:"notes"` // losses for the cluster
}

func (p Plan) Write(w io.Writer) error {
	fmt.Fprintf(w, "airgap remove removes %s from the cluster:\n", p.Node)
	for i, s := range p.Steps {
		fmt.Fprintf(w, "  %d. %s\n", i+1, s)
	}
	for _, n := range p.Notes {
		fmt.Fprintln(w, "Note: "+n)
	}
	return nil
}

// plan returns the plan as text.
func (r *removal) plan(ctx context.Context) (Plan, error) {
	p := Plan{Node: r.node.Name}
	add := func(format string, args ...any) { p.Steps = append(p.Steps, fmt.Sprintf(format, args...)) }
	d := r.leaving
	if !r.options.Force && d.Node != nil && !d.Drained() {
		add("drain the node within its PodDisruptionBudgets, at most %s", r.options.Timeout)
	}
	if d.Silent != nil && r.options.Force {
		add("do not connect to its host, because it is dead: %v", d.Silent)
	}
	if r.removed != nil {
		add("run airgap reset on its host through SSH: it undoes the changes of airgap and keeps the data")
	}
	for _, m := range d.Own {
		add("remove its member %s from etcd", m.Called())
	}
	add("delete its Node, its NodeReport and its join tokens")
	add("remove it from the lists of this host for registries and firewall%s", map[bool]string{true: ", and from those of the other hosts through SSH"}[r.fleet != nil])
	notes, err := r.notes(ctx)
	p.Notes = notes
	return p, err
}

// notes returns facts that the user should know before the confirmation.
func (r *removal) notes(ctx context.Context) ([]string, error) {
	notes, err := r.leaving.Notes(ctx)
	if err != nil || len(r.leaving.Own) == 0 || r.leaving.Silent != nil || r.site.Config.Registry.Existing != nil {
		return notes, err
	}
	all, err := verification.RegistriesAt(r.site.Registries(), trust.PKI{Dir: site.PKIDir}.CAFile())
	if err != nil {
		return nil, err
	}
	for _, d := range registry.Compare(ctx, all) {
		notes = append(notes, fmt.Sprintf("the registries differ, and images that only %s has are lost: %s: %s", r.node.Name, d.Object, strings.TrimSpace(d.Saw)))
	}
	return notes, nil
}
