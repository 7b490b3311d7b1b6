package join

import (
	"context"
	"errors"
	"fmt"
	"io"

	"airgap.dev/airgap/cluster/dryrun"
	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/journal"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/jointoken"
	"airgap.dev/airgap/kubeadm/pki"
	"airgap.dev/airgap/preflight"
)

// Options has the options of airgap join.
type Options struct {
	Addr      string   // of the registry, ADDRESS:PORT
	CAHash    string   // of its authority
	Keys      []string // of --require-key
	Skip      []string // preflight checks
	Node      string   // which of airgap.yaml this host is; "": by its addresses
	TokenFile string   // file with the join token; "": ask on the console
	Console   ui.Console
}

// Result is the result of a join.
type Result struct {
	Node      string `json:"node"`
	Changed   int    `json:"changed"`   // steps that ran
	Unchanged int    `json:"unchanged"` // steps that were up to date
	BackupKey string `json:"backupKey,omitempty"`
}

// Write says it in words.
func (r Result) Write(w io.Writer) error {
	if r.Changed == 0 {
		_, err := fmt.Fprintf(w, "%s: nothing to do, all %d steps are up to date\n", r.Node, r.Unchanged)
		return err
	}
	site.WriteBackupKey(w, r.Node, r.BackupKey)
	_, err := fmt.Fprintf(w, "%s: joined (%d steps ran, %d were up to date); to check the cluster, run airgap verify on a control-plane host\n", r.Node, r.Changed, r.Unchanged)
	return err
}

// Candidate is a host that knows the cluster which it is to join, or is a node of.
type Candidate struct {
	Site    *site.Site
	Hub     *Server
	options Options
	retry   retry // of connections; zero is usualRetry
}

// Run makes this host a node, or corrects drift on a node.
func Run(ctx context.Context, o Options) (Result, error) {
	c, err := Find(ctx, "join", o)
	if err != nil {
		return Result{}, err
	}
	s := c.Site
	if err := notBehind(ctx, s); err != nil {
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
	steps, left, err := Steps(ctx, s, c.Hub, admission, UpgradePart{}, p)
	if err != nil {
		return Result{}, err
	}
	if err := hostcheck.Pass(ctx, s.Storing(left), o.Skip, left == 0, DryRunAt(s, c.Hub), p); err != nil {
		return Result{}, err
	}
	result, err := journal.Run(ctx, steps, p)
	if err != nil {
		return Result{}, advice.Add(err, "fix the error and run the same command again: completed steps do not run again")
	}
	return Result{Node: s.Node.Name, Changed: result.Changed, Unchanged: result.Unchanged, BackupKey: site.BackupKey()}, nil
}

// Find asks the registry for the role of this host; command is the name of the caller.
func Find(ctx context.Context, command string, o Options) (*Candidate, error) {
	if err := site.CheckRegistry("airgap "+command+":", o.Addr, o.CAHash); err != nil {
		return nil, err
	}
	if err := hostcheck.MustBeRoot(command); err != nil {
		return nil, err
	}
	if err := pki.RefuseDuringCARotation(site.ThisMachine().Machine, command); err != nil {
		return nil, err
	}
	hub, err := DialServer(ctx, o.Addr, o.CAHash, o.Keys)
	if err != nil {
		return nil, err
	}
	s, err := site.New(hub.Index, o.Node)
	if err != nil {
		return nil, err
	}
	s = s.Choosing(hub.Choice).Without(hub.Removed).With(site.Given{
		Required: hub.Required, Peer: preflight.Peer{Name: hub.Addr, Ahead: hub.Ahead},
	})
	if err := RefuseOtherCluster(s, hub.Material); err != nil {
		return nil, err
	}
	return &Candidate{Site: s, Hub: hub, options: o}, nil
}

// DryRun returns the changes that Run would make. It needs no join token.
func DryRun(ctx context.Context, o Options) (dryrun.Plan, error) {
	c, err := Find(ctx, "join", o)
	if err != nil {
		return dryrun.Plan{}, err
	}
	if err := notBehind(ctx, c.Site); err != nil {
		return dryrun.Plan{}, err
	}
	steps, left, errSteps := Steps(ctx, c.Site, c.Hub, &Admission{}, UpgradePart{}, ui.Discard())
	return dryrun.Run(ctx, c.Site.Storing(left), o.Console, dryrun.Command{
		Command: "join", Skip: o.Skip, Stored: left == 0, Packages: DryRunAt(c.Site, c.Hub),
		Steps: func() ([]step.Step, error) { return steps, errSteps },
	})
}

// admit validates the join token before it changes the host, unless kubeadm has already
// joined. Then it asks for a token only if a step needs one.
func (c *Candidate) admit(ctx context.Context) (*Admission, error) {
	m := c.Site.Machine
	adm := &Admission{Entry: jointoken.JoinRequest{Machine: m.Machine, Node: c.Site.Node.Name, ControlPlane: c.Site.Node.Has(config.ControlPlane), Material: c.Hub.Material, Code: c.options.readToken, Reach: c.proveWays}}
	joined, err := m.Joined()
	if err != nil {
		return adm, err
	}
	if joined { // an earlier run may have been killed at its very end
		return adm, jointoken.RemoveJoinConf(m.Machine)
	}
	if err := c.ownEndpoint(ctx); err != nil {
		return adm, err
	}
	token, err := adm.ValidatedToken(ctx)
	if err == nil && c.Site.Node.Has(config.ControlPlane) {
		_, err = token.ControlPlaneSecrets(ctx)
	}
	return adm, err
}

// readToken reads the join token from the file or the console.
func (o Options) readToken(ctx context.Context) (jointoken.JoinToken, error) {
	text, err := ui.Secret(ctx, o.Console, o.TokenFile, "Join token (not shown): ")
	if errors.Is(err, io.EOF) {
		return jointoken.JoinToken{}, advice.Add(errors.New("read the join token: standard input is empty"), "pipe it in, or name its file with --token-file")
	}
	if err != nil {
		return jointoken.JoinToken{}, fmt.Errorf("read the join token: %w", err)
	}
	code, err := jointoken.ParseJoinToken(text)
	return code, advice.Add(err, "airgap join --new-token --node NAME on a control-plane host makes a fresh one")
}

// notBehind refuses a host that needs an upgrade.
func notBehind(ctx context.Context, s *site.Site) error {
	reason, err := s.Behind(ctx)
	if err != nil || reason == "" {
		return err
	}
	return advice.Add(fmt.Errorf("this host is a node already, and has %s", reason),
		"airgap upgrade on %s, the first control-plane host, upgrades one host after the other, and says when it is this one's turn, by airgap upgrade node", s.Config.Master().Name)
}
