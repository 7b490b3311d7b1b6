package removal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"airgap.dev/airgap/cluster/fleet"
	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/journal"
	"airgap.dev/airgap/cluster/nodesteps"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/drain"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/verify/nodereport"
)

// Result is the result of airgap remove.
type Result struct {
	Node  string   `json:"node"`
	Reset bool     `json:"reset"` // its host was taken back
	Next  []string `json:"next"`  // what is left to be run by hand, and where
}

func (r Result) Write(w io.Writer) error {
	if r.Reset {
		fmt.Fprintf(w, "%s: removed, and its host is taken back\n", r.Node)
	} else {
		fmt.Fprintf(w, "%s: removed\n", r.Node)
	}
	for _, line := range r.Next {
		fmt.Fprintln(w, "  still to be run "+line)
	}
	return nil
}

// run takes the node out. Each part does nothing where it is done already.
func (r *removal) run(ctx context.Context, p ui.Progress) (Result, error) {
	result := Result{Node: r.node.Name}
	d := r.departure
	if !r.options.Force && d.Node != nil && !d.Drained() {
		if err := d.Drain(ctx, drain.Options{Timeout: r.options.Timeout, Unmanaged: r.options.Unmanaged, Say: p.Say}); err != nil {
			return result, err
		}
	}
	if err := r.resetHost(ctx, p, &result); err != nil {
		return result, err
	}
	if err := r.takeOut(ctx); err != nil {
		return result, err
	}
	p.Say("%s has left the cluster", d.Name)
	r.site = r.site.Without(append(slices.Clone(r.site.Removed), d.Name))
	if err := r.relist(ctx, p); err != nil {
		return result, err
	}
	again, err := r.relistOthers(ctx, p)
	result.Next = append(result.Next, again...)
	return result, errors.Join(err, ctx.Err())
}

// resetHost has the host take itself back: a control-plane host leaves etcd so.
func (r *removal) resetHost(ctx context.Context, p ui.Progress, result *Result) error {
	if r.leaves == nil {
		if !r.options.Force {
			result.Next = append(result.Next, "on "+r.node.Name+": airgap reset")
		}
		return nil
	}
	line := p.Host(r.node.Name)
	far := fleet.Faraway{Show: line}
	err := r.leaves.Run(ctx, &far, nil, "", "reset", "--yes", "--output", "json", "--progress", "json")
	line.End(err)
	if err != nil {
		return advice.Add(fmt.Errorf("airgap reset on %s: %w", r.node.Name, err), "mend it and run the same command again; with --no-ssh it is yours to run there")
	}
	result.Reset = true
	return nil
}

// takeOut looks anew: the host's reset may have taken out most of it.
func (r *removal) takeOut(ctx context.Context) error {
	d, err := join.Departing(ctx, r.site, r.node.Name, r.node.Address)
	if err != nil {
		return err
	}
	if err := d.Leave(ctx); err != nil {
		return err
	}
	client, err := kube.Client(r.site.Machine.Machine, kube.AdminConf)
	if err != nil {
		return err
	}
	return nodereport.Disallow(ctx, client, r.node.Name)
}

// relist takes the node out of the lists of this host: firewall, registry, mirrors,
// what it reports on, what joining hosts are told.
func (r *removal) relist(ctx context.Context, p ui.Progress) error {
	s := r.site
	t, err := site.TrustedKeys(r.options.Keys, site.StoredBundles(site.StoreDir)...)
	if err != nil {
		return err
	}
	v, err := s.Store.Named(s.Index.ID(), t.Keys...)
	if err != nil {
		return err
	}
	defer v.Close()
	var l step.List
	l.Add(nodesteps.FirstSteps(s)...)
	l.Add(nodesteps.RegistrySteps(s, v, t.Keys, p)...)
	l.Try(nodesteps.MirrorStep(s))
	l.Extend(nodesteps.RuntimeSteps(s))
	l.Add(nodesteps.NodeReportUnitStep(s, p), join.MaterialStep(s, v.Top()))
	steps, err := l.Steps()
	if err != nil {
		return err
	}
	_, err = journal.Run(ctx, steps, p)
	return err
}

// relistOthers does the same on the other hosts: they join again, which changes
// nothing but that. It returns what is left to be run there.
func (r *removal) relistOthers(ctx context.Context, p ui.Progress) ([]string, error) {
	again, err := join.AgainSteps(ctx, r.site)
	if err != nil || again == nil {
		return nil, err
	}
	done := r.joinAgain(ctx, p)
	left := slices.DeleteFunc(again.Nodes, func(name string) bool { return slices.Contains(done, name) })
	if len(left) == 0 {
		return nil, nil
	}
	return []string{fmt.Sprintf("on %s, where it asks for no code and takes %s out of the lists: %s", strings.Join(left, ", "), r.node.Name, again.Line)}, nil
}

// Again returns the names of the hosts that have joined again, through SSH.
func (r *removal) joinAgain(ctx context.Context, p ui.Progress) (done []string) {
	if r.fleet == nil {
		return nil
	}
	f := r.fleet
	f.Members = slices.DeleteFunc(f.Members, func(m *fleet.Member) bool { return m == r.leaves || m.Err != nil })
	f.Each(ctx, f.Members, func(ctx context.Context, m *fleet.Member) error {
		here, err := m.Membership(ctx)
		m.Joined = here.Joined
		return err
	})
	f.Members = slices.DeleteFunc(f.Members, func(m *fleet.Member) bool { return m.Err != nil || !m.Joined })
	for _, h := range f.Join(ctx, p) {
		if h.Error == "" {
			done = append(done, h.Node)
		}
	}
	return done
}
