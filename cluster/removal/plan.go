package removal

import (
	"context"
	"fmt"
	"io"
	"strings"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/verdict"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/registry/trust"
)

// Plan is what airgap remove is going to do; the result of --dry-run.
type Plan struct {
	Node  string   `json:"node"`
	Steps []string `json:"steps"`
	Notes []string `json:"notes"` // what the cluster has less of afterwards
}

func (p Plan) Write(w io.Writer) error {
	fmt.Fprintf(w, "airgap remove takes %s out of the cluster:\n", p.Node)
	for i, s := range p.Steps {
		fmt.Fprintf(w, "  %d. %s\n", i+1, s)
	}
	for _, n := range p.Notes {
		fmt.Fprintln(w, "Note: "+n)
	}
	return nil
}

// plan puts it into words.
func (r *removal) plan(ctx context.Context) (Plan, error) {
	p := Plan{Node: r.node.Name}
	add := func(format string, args ...any) { p.Steps = append(p.Steps, fmt.Sprintf(format, args...)) }
	d := r.departure
	if !r.options.Force && d.Node != nil && !d.Drained() {
		add("no new pods; those that are there are moved, as their budgets allow, within %s", r.options.Timeout)
	}
	if d.Silent != nil && r.options.Force {
		add("its host is left alone, for it is dead: %v", d.Silent)
	}
	if r.leaves != nil {
		add("airgap reset on its host, through SSH: what airgap did there is taken back, its data stays")
	}
	for _, m := range d.Own {
		add("its member %s leaves etcd", m.Called())
	}
	add("its Node, its report and the codes that were made for it are deleted")
	add("this host takes it out of its lists: registries, firewall%s", map[bool]string{true: "; so do the other hosts, through SSH"}[r.fleet != nil])
	notes, err := r.notes(ctx)
	p.Notes = notes
	return p, err
}

// notes are what somebody should know who says yes.
func (r *removal) notes(ctx context.Context) ([]string, error) {
	notes, err := r.departure.Notes(ctx)
	if err != nil || len(r.departure.Own) == 0 || r.departure.Silent != nil || r.site.Config.Registry.Existing != nil {
		return notes, err
	}
	all, err := verdict.RegistriesAt(r.site.Registries(), trust.PKI{Dir: site.PKIDir}.CAFile())
	if err != nil {
		return nil, err
	}
	for _, d := range registry.Compare(ctx, all) {
		notes = append(notes, fmt.Sprintf("the registries are not alike, and what %s alone has goes with it: %s: %s", r.node.Name, d.Object, strings.TrimSpace(d.Saw)))
	}
	return notes, nil
}
