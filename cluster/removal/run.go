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
	"airgap.dev/airgap/cluster/owed"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/alike"
	"airgap.dev/airgap/internal/hostrange"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/drain"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/verify/nodereport"
)

// Result is the result of airgap remove.
type Result struct {
	*NodeResult              // of a single node
	Nodes       []NodeResult `json:"nodes,omitempty"` // of several: those that were removed
	Next        []string     `json:"next"`            // commands that the user must run, with their hosts
}

// NodeResult is the result for one node.
type NodeResult struct {
	Node  string `json:"node"`
	Reset bool   `json:"reset"` // airgap reset has run on its host
}

// Began reports whether a node was removed.
func (r Result) Began() bool { return r.NodeResult != nil || len(r.Nodes) > 0 }

func (r Result) Write(w io.Writer) error {
	nodes := r.Nodes
	if r.NodeResult != nil {
		nodes = []NodeResult{*r.NodeResult}
	}
	var said []alike.Said
	for _, n := range nodes {
		said = append(said, alike.Said{Host: n.Node, Text: map[bool]string{true: "removed, and its host is reset", false: "removed"}[n.Reset]})
	}
	for _, g := range alike.Groups(said) {
		fmt.Fprintf(w, "%s: %s\n", hostrange.Join(g.Hosts), g.Text)
	}
	for _, line := range r.Next {
		fmt.Fprintln(w, "  run "+line)
	}
	return nil
}

// run removes the nodes, and then changes the lists of all hosts once. Each part does nothing if it is already complete.
func (r *removal) run(ctx context.Context, p ui.Progress) (Result, error) {
	undo, err := r.cordonAll(ctx)
	if err != nil {
		return Result{}, err
	}
	removed, err := sequence(ctx, r.targets, func(i int, t *target) error { return r.remove(ctx, t, i > 0, p) })
	if err != nil {
		err = errors.Join(err, undo())
	}
	if len(removed) == 0 || ctx.Err() != nil {
		return resultOf(r.targets, removed), err
	}
	result := resultOf(r.targets, removed)
	next, listsErr := r.relist(ctx, removed, p)
	result.Next = append(result.Next, next...)
	return result, errors.Join(err, listsErr, ctx.Err())
}

// sequence removes one node after the other until a failure, and returns the removed ones. Among several nodes, the error
// names the others.
func sequence(ctx context.Context, all []*target, remove func(int, *target) error) (removed []*target, err error) {
	for i, t := range all {
		if err = ctx.Err(); err == nil {
			err = remove(i, t)
		}
		if err == nil {
			continue
		}
		if len(all) > 1 {
			err = advice.Add(fmt.Errorf("remove %s: %w; removed: %s; not removed: %s", t.node.Name, err, namesOf(all[:i]), namesOf(all[i:])),
				"fix the error and run the same command again: it continues with %s", t.node.Name)
		}
		return all[:i], err
	}
	return all, nil
}

func namesOf(all []*target) string {
	if len(all) == 0 {
		return "none"
	}
	var names []string
	for _, t := range all {
		names = append(names, t.node.Name)
	}
	return hostrange.Join(names)
}

func resultOf(all, removed []*target) Result {
	result := Result{}
	var byHand []string
	for _, t := range removed {
		if len(all) == 1 {
			result.NodeResult = &t.result
		} else {
			result.Nodes = append(result.Nodes, t.result)
		}
		if t.byHand {
			byHand = append(byHand, t.node.Name)
		}
	}
	if len(byHand) > 0 {
		result.Next = append(result.Next, "on "+hostrange.Join(byHand)+": airgap reset")
	}
	return result
}

// cordonAll keeps the pods of a node off the nodes that are removed after it. undo lets new pods onto the nodes whose
// removal has not begun.
func (r *removal) cordonAll(ctx context.Context) (undo func() error, err error) {
	if len(r.targets) == 1 || r.options.Force {
		return func() error { return nil }, nil
	}
	return cordonEach(r.targets, func(t *target) (func() error, error) {
		undo, err := t.leaving.Cordon(ctx)
		return func() error { return undo(context.WithoutCancel(ctx)) }, err
	})
}

func cordonEach(all []*target, cordon func(*target) (undo func() error, err error)) (undo func() error, err error) {
	undoes := map[*target]func() error{}
	undo = func() error {
		var errs []error
		for _, t := range all {
			if do := undoes[t]; do != nil && !t.begun {
				errs = append(errs, do())
			}
		}
		return errors.Join(errs...)
	}
	for _, t := range all {
		one, err := cordon(t)
		if err != nil {
			return undo, errors.Join(err, undo())
		}
		undoes[t] = one
	}
	return undo, nil
}

// remove removes one node. later means that other nodes were removed before it in this run, so the state of the cluster
// is read again: etcd must still have its quorum.
func (r *removal) remove(ctx context.Context, t *target, later bool, p ui.Progress) error {
	if later {
		if err := r.lookAgain(ctx, t); err != nil {
			return err
		}
	}
	d := t.leaving
	t.begun = true
	if !r.options.Force && d.Node != nil && !d.Drained() {
		if err := d.Drain(ctx, drain.Options{Timeout: r.options.Timeout, Unmanaged: r.options.Unmanaged, Say: p.Say}); err != nil {
			return err
		}
	}
	if err := r.resetHost(ctx, t, p); err != nil {
		return err
	}
	if err := r.leaveCluster(ctx, t); err != nil {
		return err
	}
	p.Say("%s has left the cluster", d.Name)
	if err := owed.Forget(d.Name); err != nil {
		return err
	}
	if err := owed.Record.Exchange(ctx, r.site.Machine.Machine); err != nil {
		p.Say("warning: %v; the next command sends it", err)
	}
	return nil
}

// resetHost runs airgap reset on the host. A control-plane host leaves etcd that way.
func (r *removal) resetHost(ctx context.Context, t *target, p ui.Progress) error {
	if t.member == nil {
		t.byHand = !r.options.Force
		return nil
	}
	line := p.Host(t.node.Name)
	err := r.fleet.UntilDone(ctx, t.member, line, func() error {
		return t.member.RunLong(ctx, &fleet.RemoteRun{Show: line}, "", "reset", "--yes", "--output", "json", "--progress", "json")
	})
	line.End(err)
	if err != nil {
		return advice.Add(fmt.Errorf("airgap reset on %s: %w", t.node.Name, err), "fix the error and run the same command again; or use --no-ssh, and run airgap reset there yourself")
	}
	t.result.Reset = true
	return nil
}

// leaveCluster reads the node again, because the reset of the host may have removed most of it.
func (r *removal) leaveCluster(ctx context.Context, t *target) error {
	d, err := join.Departing(ctx, r.site, t.node.Name, t.node.Address)
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
	return nodereport.Disallow(ctx, client, t.node.Name)
}

// relist removes the nodes from the lists of this host and of the other hosts. It returns the commands that the user must
// run.
func (r *removal) relist(ctx context.Context, removed []*target, p ui.Progress) ([]string, error) {
	names := slices.Clone(r.site.Removed)
	for _, t := range removed {
		names = append(names, t.node.Name)
	}
	r.site = r.site.Without(names)
	if r.upgrading != nil {
		next := fmt.Sprintf("here: airgap upgrade DIR, with the bundle of the upgrade: it continues, and removes %s from the lists of the hosts", namesOf(removed))
		return []string{next}, join.LayOutRemoved(r.site)
	}
	if err := r.updateLists(ctx, p); err != nil {
		return nil, err
	}
	again, err := join.AgainSteps(ctx, r.site)
	if err != nil || again == nil {
		return nil, err
	}
	begun := r.targets[:min(len(removed)+1, len(r.targets))] // the last one of them may be reset in part
	done := r.joinAgain(ctx, begun, p)
	left := slices.DeleteFunc(again.Nodes, func(name string) bool {
		return slices.Contains(done, name) || slices.ContainsFunc(begun, func(t *target) bool { return t.node.Name == name })
	})
	if len(left) == 0 {
		return nil, nil
	}
	return []string{fmt.Sprintf("on %s, without a join token, to remove %s from the lists there: %s", strings.Join(left, ", "), namesOf(removed), again.Line)}, nil
}
