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
	Reset bool     `json:"reset"` // airgap reset has run on its host
	Next  []string `json:"next"`  // commands that the user must run, with their hosts
}

func (r Result) Write(w io.Writer) error {
	if r.Reset {
		fmt.Fprintf(w, "%s: removed, and its host is reset\n", r.Node)
	} else {
		fmt.Fprintf(w, "%s: removed\n", r.Node)
	}
	for _, line := range r.Next {
		fmt.Fprintln(w, "  run "+line)
	}
	return nil
}

// run removes the node. Each part does nothing if it is already complete.
func (r *removal) run(ctx context.Context, p ui.Progress) (Result, error) {
	result := Result{Node: r.node.Name}
	d := r.leaving
	if !r.options.Force && d.Node != nil && !d.Drained() {
		if err := d.Drain(ctx, drain.Options{Timeout: r.options.Timeout, Unmanaged: r.options.Unmanaged, Say: p.Say}); err != nil {
			return result, err
		}
	}
	if err := r.resetHost(ctx, p, &result); err != nil {
		return result, err
	}
	if err := r.leaveCluster(ctx); err != nil {
		return result, err
	}
	p.Say("%s has left the cluster", d.Name)
	r.site = r.site.Without(append(slices.Clone(r.site.Removed), d.Name))
	if r.upgrading != nil {
		result.Next = append(result.Next, fmt.Sprintf("here: airgap upgrade DIR, with the bundle of the upgrade: it continues, and removes %s from the lists of the hosts", d.Name))
		return result, errors.Join(join.LayOutRemoved(r.site), ctx.Err())
	}
	if err := r.updateLists(ctx, p); err != nil {
		return result, err
	}
	again, err := r.updateOtherHosts(ctx, p)
	result.Next = append(result.Next, again...)
	return result, errors.Join(err, ctx.Err())
}

// resetHost runs airgap reset on the host. A control-plane host leaves etcd that way.
func (r *removal) resetHost(ctx context.Context, p ui.Progress, result *Result) error {
	if r.removed == nil {
		if !r.options.Force {
			result.Next = append(result.Next, "on "+r.node.Name+": airgap reset")
		}
		return nil
	}
	line := p.Host(r.node.Name)
	remote := fleet.RemoteRun{Show: line}
	err := r.removed.Run(ctx, &remote, nil, "", "reset", "--yes", "--output", "json", "--progress", "json")
	line.End(err)
	if err != nil {
		return advice.Add(fmt.Errorf("airgap reset on %s: %w", r.node.Name, err), "fix the error and run the same command again; or use --no-ssh, and run airgap reset there yourself")
	}
	result.Reset = true
	return nil
}

// leaveCluster reads the node again, because the reset of the host may have removed most of it.
func (r *removal) leaveCluster(ctx context.Context) error {
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

// updateLists removes the node from the lists of this host: firewall, registry, mirrors, node report and
// join files.
func (r *removal) updateLists(ctx context.Context, p ui.Progress) error {
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

// updateOtherHosts does the same on the other hosts. They run airgap join again, which changes only these
// lists. It returns the commands that the user must run there.
func (r *removal) updateOtherHosts(ctx context.Context, p ui.Progress) ([]string, error) {
	again, err := join.AgainSteps(ctx, r.site)
	if err != nil || again == nil {
		return nil, err
	}
	done := r.joinAgain(ctx, p)
	left := slices.DeleteFunc(again.Nodes, func(name string) bool { return slices.Contains(done, name) })
	if len(left) == 0 {
		return nil, nil
	}
	return []string{fmt.Sprintf("on %s, without a join token, to remove %s from the lists there: %s", strings.Join(left, ", "), r.node.Name, again.Line)}, nil
}

// joinAgain runs airgap join again on the hosts through SSH, and returns the names of those that succeed.
func (r *removal) joinAgain(ctx context.Context, p ui.Progress) (done []string) {
	if r.fleet == nil {
		return nil
	}
	f := r.fleet
	f.Members = slices.DeleteFunc(f.Members, func(m *fleet.Member) bool { return m == r.removed || m.Err != nil })
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
