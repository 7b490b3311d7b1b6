package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/preflight"
)

// joinOptions are those of airgap join.
type joinOptions struct {
	addr     string   // of the registry, ADDRESS:PORT
	caHash   string   // of its authority
	keys     []string // of --require-key
	skip     []string // preflight checks
	node     string   // which of airgap.yaml this host is; "": by its addresses
	codeFile string   // with the one-time code; "": the console is asked
	console  ui.Console
}

// joinedNode is the result of a join.
type joinedNode struct {
	Node      string `json:"node"`
	Changed   int    `json:"changed"`   // steps that ran
	Unchanged int    `json:"unchanged"` // steps whose result held already
	BackupKey string `json:"backupKey,omitempty"`
	first     string // the first control-plane host
}

func (r joinedNode) write(w io.Writer) error {
	if r.Changed == 0 {
		_, err := fmt.Fprintf(w, "%s: nothing to do, all %d steps hold\n", r.Node, r.Unchanged)
		return err
	}
	site.WriteBackupKey(w, r.Node, r.BackupKey)
	_, err := fmt.Fprintf(w, "%s: joined (%d steps ran, %d held already); airgap verify on the control-plane host gives the verdict\n", r.Node, r.Changed, r.Unchanged)
	return err
}

func (r joinedNode) writePrepared(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s: prepared (%d steps ran, %d held already); airgap upgrade on %s goes on\n", r.Node, r.Changed, r.Unchanged, r.first)
	return err
}

// candidate is a host that knows the cluster which it is to join, or is a node of.
type candidate struct {
	options joinOptions
	site    *site.Site
	hub     *join.Hub
}

// joinHere makes this host a node, or puts right what has drifted on one.
func joinHere(ctx context.Context, o joinOptions) (joinedNode, error) {
	c, err := findCluster(ctx, o)
	if err != nil {
		return joinedNode{}, err
	}
	s := c.site
	if err := join.MayUpgrade(ctx, s); err != nil {
		return joinedNode{}, err
	}
	if err := hostcheck.ClockAgrees(s, o.skip); err != nil {
		return joinedNode{}, err
	}
	release, err := hostcheck.LockHost()
	if err != nil {
		return joinedNode{}, err
	}
	defer release()
	admission, err := c.admit(ctx)
	if err != nil {
		return joinedNode{}, err
	}
	p := o.console.Progress()
	if err := join.MendTorn(ctx, s, p); err != nil {
		return joinedNode{}, err
	}
	steps, stored, err := join.Steps(ctx, s, c.hub, admission, p)
	if err != nil {
		return joinedNode{}, err
	}
	if err := hostcheck.Pass(ctx, s, o.skip, stored, join.DryRunAt(s, c.hub), p); err != nil {
		return joinedNode{}, err
	}
	result, err := runSteps(ctx, steps, p)
	if err != nil {
		return joinedNode{}, advice.Add(err, "run the same command again when it is mended: finished steps are not repeated")
	}
	return joinedNode{Node: s.Node.Name, Changed: result.Changed, Unchanged: result.Unchanged, BackupKey: site.BackupKey()}, nil
}

// findCluster asks the registry what this host is to become.
func findCluster(ctx context.Context, o joinOptions) (*candidate, error) {
	if err := hostcheck.MustBeRoot("join"); err != nil {
		return nil, err
	}
	if err := site.ThisMachine().RefuseAmidReplacement("join"); err != nil {
		return nil, err
	}
	hub, err := join.ReachHub(ctx, o.addr, o.caHash, o.keys)
	if err != nil {
		return nil, err
	}
	s, err := site.New(hub.Index, o.node)
	if err != nil {
		return nil, err
	}
	s.Required = hub.Required
	s.Take(hub.Choice)
	s.LeaveOut(hub.Removed)
	if err := join.RefuseOtherCluster(s, hub.Material); err != nil {
		return nil, err
	}
	s.Peer = preflight.Peer{Name: hub.Addr, Ahead: hub.Ahead}
	return &candidate{o, s, hub}, nil
}

// rehearseJoin says what joinHere would change. It needs no code: nobody is let in.
func rehearseJoin(ctx context.Context, o joinOptions) (dryRun, error) {
	c, err := findCluster(ctx, o)
	if err != nil {
		return dryRun{}, err
	}
	if err := join.MayUpgrade(ctx, c.site); err != nil {
		return dryRun{}, err
	}
	steps, stored, err := join.Steps(ctx, c.site, c.hub, &join.Admission{}, ui.Discard())
	if err != nil {
		return dryRun{}, err
	}
	return rehearse(ctx, c.site, o.console, rehearsal{command: "join", skip: o.skip, stored: stored, packages: join.DryRunAt(c.site, c.hub), steps: steps})
}

// prepareHere gets onto this host, a node already, what its upgrade takes.
func prepareHere(ctx context.Context, o joinOptions) (joinedNode, error) {
	c, err := findCluster(ctx, o)
	if err != nil {
		return joinedNode{}, err
	}
	s := c.site
	if joined, err := s.Machine.Joined(); err != nil || !joined {
		return joinedNode{}, cmp.Or(err, advice.Add(errors.New("prepare an upgrade: this host is no node"), "without --prepare it joins"))
	}
	release, err := hostcheck.LockHost()
	if err != nil {
		return joinedNode{}, err
	}
	defer release()
	var v *bundle.View
	if s.ServesRegistry() {
		if v, err = c.hub.View(ctx); err != nil {
			return joinedNode{}, err
		}
	}
	p := o.console.Progress()
	steps, err := join.PrepareSteps(ctx, s, c.hub, v, p)
	if err != nil {
		return joinedNode{}, err
	}
	result, err := runSteps(ctx, steps, p)
	if err != nil {
		return joinedNode{}, advice.Add(err, "run the same command again when it is mended: finished steps are not repeated")
	}
	return joinedNode{Node: s.Node.Name, Changed: result.Changed, Unchanged: result.Unchanged, first: s.Config.Master().Name}, nil
}

// admit gets the ticket before anything on the host is changed, unless kubeadm has
// joined already: then a code is asked for only if a step turns out to need one.
func (c *candidate) admit(ctx context.Context) (*join.Admission, error) {
	m := c.site.Machine
	adm := &join.Admission{Entry: kubeadm.Entry{Machine: m, Node: c.site.KubeNode(), Material: c.hub.Material, Code: c.options.readCode}}
	joined, err := m.Joined()
	if err != nil {
		return adm, err
	}
	if joined { // an earlier run may have been killed at its very end
		return adm, m.ForgetEntry()
	}
	ticket, err := adm.Ticket(ctx)
	if err == nil && c.site.Node.Has(config.ControlPlane) {
		_, err = ticket.Parcel(ctx)
	}
	return adm, err
}

// readCode takes the code from the file or the console.
func (o joinOptions) readCode(ctx context.Context) (kubeadm.Code, error) {
	text, err := ui.Secret(ctx, o.console, o.codeFile, "One-time code (not shown): ")
	if errors.Is(err, io.EOF) {
		return kubeadm.Code{}, advice.Add(errors.New("read the one-time code: standard input is empty"), "pipe it in, or name its file with --code-file")
	}
	if err != nil {
		return kubeadm.Code{}, fmt.Errorf("read the one-time code: %w", err)
	}
	code, err := kubeadm.ParseCode(text)
	return code, advice.Add(err, "airgap join --new-code --node NAME on a control-plane host makes a fresh one")
}
