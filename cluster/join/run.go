package join

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/journal"
	"airgap.dev/airgap/cluster/rehearsal"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/preflight"
)

// Options are those of airgap join.
type Options struct {
	Addr     string   // of the registry, ADDRESS:PORT
	CAHash   string   // of its authority
	Keys     []string // of --require-key
	Skip     []string // preflight checks
	Node     string   // which of airgap.yaml this host is; "": by its addresses
	CodeFile string   // with the one-time code; "": the console is asked
	Console  ui.Console
}

// Result is the result of a join.
type Result struct {
	Node      string `json:"node"`
	Changed   int    `json:"changed"`   // steps that ran
	Unchanged int    `json:"unchanged"` // steps whose result held already
	BackupKey string `json:"backupKey,omitempty"`
	prepared  string // the first control-plane host, which upgrades this one; "": it has joined
}

// Write says it in words.
func (r Result) Write(w io.Writer) error {
	if r.prepared != "" {
		_, err := fmt.Fprintf(w, "%s: prepared (%d steps ran, %d held already); airgap upgrade on %s goes on\n", r.Node, r.Changed, r.Unchanged, r.prepared)
		return err
	}
	if r.Changed == 0 {
		_, err := fmt.Fprintf(w, "%s: nothing to do, all %d steps hold\n", r.Node, r.Unchanged)
		return err
	}
	site.WriteBackupKey(w, r.Node, r.BackupKey)
	_, err := fmt.Fprintf(w, "%s: joined (%d steps ran, %d held already); airgap verify on the control-plane host gives the verdict\n", r.Node, r.Changed, r.Unchanged)
	return err
}

// candidate is a host that knows the cluster which it is to join, or is a node of.
type candidate struct {
	options Options
	site    *site.Site
	hub     *Hub
}

// Run makes this host a node, or puts right what has drifted on one.
func Run(ctx context.Context, o Options) (Result, error) {
	c, err := findCluster(ctx, o)
	if err != nil {
		return Result{}, err
	}
	s := c.site
	if err := MayUpgrade(ctx, s); err != nil {
		return Result{}, err
	}
	if err := hostcheck.ClockAgrees(s, o.Skip); err != nil {
		return Result{}, err
	}
	release, err := hostcheck.LockHost()
	if err != nil {
		return Result{}, err
	}
	defer release()
	admission, err := c.admit(ctx)
	if err != nil {
		return Result{}, err
	}
	p := o.Console.Progress()
	if err := MendTorn(ctx, s, p); err != nil {
		return Result{}, err
	}
	steps, stored, err := Steps(ctx, s, c.hub, admission, p)
	if err != nil {
		return Result{}, err
	}
	if err := hostcheck.Pass(ctx, s, o.Skip, stored, DryRunAt(s, c.hub), p); err != nil {
		return Result{}, err
	}
	result, err := journal.Run(ctx, steps, p)
	if err != nil {
		return Result{}, advice.Add(err, "run the same command again when it is mended: finished steps are not repeated")
	}
	return Result{Node: s.Node.Name, Changed: result.Changed, Unchanged: result.Unchanged, BackupKey: site.BackupKey()}, nil
}

// findCluster asks the registry what this host is to become.
func findCluster(ctx context.Context, o Options) (*candidate, error) {
	if err := hostcheck.MustBeRoot("join"); err != nil {
		return nil, err
	}
	if err := site.ThisMachine().RefuseAmidReplacement("join"); err != nil {
		return nil, err
	}
	hub, err := ReachHub(ctx, o.Addr, o.CAHash, o.Keys)
	if err != nil {
		return nil, err
	}
	s, err := site.New(hub.Index, o.Node)
	if err != nil {
		return nil, err
	}
	s.Required = hub.Required
	s.Take(hub.Choice)
	s.LeaveOut(hub.Removed)
	if err := RefuseOtherCluster(s, hub.Material); err != nil {
		return nil, err
	}
	s.Peer = preflight.Peer{Name: hub.Addr, Ahead: hub.Ahead}
	return &candidate{o, s, hub}, nil
}

// Rehearse says what Run would change. It needs no code: nobody is let in.
func Rehearse(ctx context.Context, o Options) (rehearsal.Plan, error) {
	c, err := findCluster(ctx, o)
	if err != nil {
		return rehearsal.Plan{}, err
	}
	if err := MayUpgrade(ctx, c.site); err != nil {
		return rehearsal.Plan{}, err
	}
	steps, stored, err := Steps(ctx, c.site, c.hub, &Admission{}, ui.Discard())
	if err != nil {
		return rehearsal.Plan{}, err
	}
	return rehearsal.Run(ctx, c.site, o.Console, rehearsal.Command{Command: "join", Skip: o.Skip, Stored: stored, Packages: DryRunAt(c.site, c.hub), Steps: steps})
}

// Prepare gets onto this host, a node already, what its upgrade takes.
func Prepare(ctx context.Context, o Options) (Result, error) {
	c, err := findCluster(ctx, o)
	if err != nil {
		return Result{}, err
	}
	s := c.site
	if joined, err := s.Machine.Joined(); err != nil || !joined {
		return Result{}, cmp.Or(err, advice.Add(errors.New("prepare an upgrade: this host is no node"), "without --prepare it joins"))
	}
	release, err := hostcheck.LockHost()
	if err != nil {
		return Result{}, err
	}
	defer release()
	var v *bundle.View
	if s.ServesRegistry() {
		if v, err = c.hub.View(ctx); err != nil {
			return Result{}, err
		}
	}
	p := o.Console.Progress()
	steps, err := PrepareSteps(ctx, s, c.hub, v, p)
	if err != nil {
		return Result{}, err
	}
	result, err := journal.Run(ctx, steps, p)
	if err != nil {
		return Result{}, advice.Add(err, "run the same command again when it is mended: finished steps are not repeated")
	}
	return Result{Node: s.Node.Name, Changed: result.Changed, Unchanged: result.Unchanged, prepared: s.Config.Master().Name}, nil
}

// admit gets the ticket before anything on the host is changed, unless kubeadm has
// joined already: then a code is asked for only if a step turns out to need one.
func (c *candidate) admit(ctx context.Context) (*Admission, error) {
	m := c.site.Machine
	adm := &Admission{Entry: kubeadm.Entry{Machine: m, Node: c.site.KubeNode(), Material: c.hub.Material, Code: c.options.readCode}}
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
func (o Options) readCode(ctx context.Context) (kubeadm.Code, error) {
	text, err := ui.Secret(ctx, o.Console, o.CodeFile, "One-time code (not shown): ")
	if errors.Is(err, io.EOF) {
		return kubeadm.Code{}, advice.Add(errors.New("read the one-time code: standard input is empty"), "pipe it in, or name its file with --code-file")
	}
	if err != nil {
		return kubeadm.Code{}, fmt.Errorf("read the one-time code: %w", err)
	}
	code, err := kubeadm.ParseCode(text)
	return code, advice.Add(err, "airgap join --new-code --node NAME on a control-plane host makes a fresh one")
}
