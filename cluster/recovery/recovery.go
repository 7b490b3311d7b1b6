// Package recovery brings a lost cluster back from a backup.
package recovery

import (
	"context"
	"fmt"
	"io"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/journal"
	"airgap.dev/airgap/cluster/nodesteps"
	"airgap.dev/airgap/cluster/rehearsal"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/verdict"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/etcd"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/leave"
)

// Options are those of airgap restore.
type Options struct {
	Dir     string        // the backup's
	Bundle  string        // directory of the bundle to install from
	Keys    []string      // of --require-key
	Skip    []string      // preflight checks; also rules of verify
	Node    string        // which of airgap.yaml this host is; "": by its addresses
	Timeout time.Duration // for the cluster to be well at the end
	Backup  BackupTrust
	Console ui.Console
}

// ready is a backup with the bundle to restore it from, once both are checked.
type ready struct {
	Restoration
	view   *bundle.View
	trust  *site.Trust
	stored bool   // the bundle is in this host's store
	close  func() // removes the copy of the backup
}

// begin checks all that can be known before anything is changed, but for preflight.
func begin(ctx context.Context, o Options) (_ *ready, err error) {
	if err := hostcheck.MustBeRoot("restore"); err != nil {
		return nil, err
	}
	from, remove, err := fetchBackup(ctx, o.Dir, site.StateDir, o.Backup, o.Console)
	if err != nil {
		return nil, err
	}
	r := &ready{close: remove}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	if err := from.heldTo(o.Keys); err != nil {
		return nil, err
	}
	if r.view, r.trust, err = site.OpenWhole(o.Bundle, o.Keys); err != nil {
		return nil, err
	}
	r.close = func() { r.view.Close(); remove() }
	s, err := site.New(r.view.Top().Index(), o.Node)
	if err != nil {
		return nil, err
	}
	s = s.With(site.Given{Required: r.trust.Required, Medium: host.DeviceOf(o.Bundle)})
	r.Restoration = Restoration{Site: s, From: from}
	if err := r.check(ctx); err != nil {
		return nil, err
	}
	r.stored, err = s.InStore(r.view, r.trust.Keys)
	return r, err
}

// Rehearse says what Run would change.
func Rehearse(ctx context.Context, o Options) (rehearsal.Plan, error) {
	r, err := begin(ctx, o)
	if err != nil {
		return rehearsal.Plan{}, err
	}
	defer r.close()
	return rehearsal.Run(ctx, r.Site, o.Console, rehearsal.Command{
		Command: "restore", Skip: o.Skip, Stored: r.stored, Packages: nodesteps.DryRunFrom(r.Site, r.view),
		Steps: func() ([]step.Step, error) { return r.steps(r.view, r.trust.Keys, ui.Discard()) },
	})
}

// Run makes this host the first control-plane host of a saved cluster.
func Run(ctx context.Context, o Options) (Result, error) {
	r, err := begin(ctx, o)
	if err != nil {
		return Result{}, err
	}
	defer r.close()
	release, err := hostcheck.LockHost()
	if err != nil {
		return Result{}, err
	}
	defer release()
	p := o.Console.Progress()
	if err := hostcheck.Pass(ctx, r.Site, o.Skip, r.stored, nodesteps.DryRunFrom(r.Site, r.view), p); err != nil {
		return Result{}, err
	}
	steps, err := r.steps(r.view, r.trust.Keys, p)
	if err != nil {
		return Result{}, err
	}
	done, err := journal.Run(ctx, steps, p)
	if err != nil {
		return Result{}, advice.Add(err, "run the same command again when it is mended: finished steps are not repeated")
	}
	return r.finish(ctx, done, o, p)
}

// Result is the result on stdout.
type Result struct {
	Node      string            `json:"node"`
	Taken     time.Time         `json:"taken,omitzero"` // the backup
	Of        string            `json:"of"`             // the host that the backup is of
	Etcd      etcd.SnapshotInfo `json:"etcd"`
	Changed   int               `json:"changed"`
	Unchanged int               `json:"unchanged"`
	Verified  bool              `json:"verified"`       // nobody was missing, and all was well
	Lost      []string          `json:"lost,omitempty"` // nodes that have to join anew
	Join      []join.Line       `json:"join,omitempty"`
	Strangers []string          `json:"strangers,omitempty"` // lost nodes that airgap.yaml does not have any more
	BackupKey string            `json:"backupKey,omitempty"` // fingerprint of the key that this host signs its own backups with
}

// finish says who is missing and how they join. With them the cluster is
// not what a verdict would ask for: there is one when nobody is.
func (r Restoration) finish(ctx context.Context, done step.Result, o Options, p ui.Progress) (Result, error) {
	result := Result{
		Node: r.Site.Node.Name, Taken: r.From.Taken, Of: r.From.Node, Etcd: r.From.Etcd,
		Changed: done.Changed, Unchanged: done.Unchanged, BackupKey: site.BackupKey(),
	}
	p.Now("Wait for the other hosts to be heard of, or given up")
	lost, strangers, err := r.lost(ctx)
	result.Strangers = strangers
	if err != nil {
		return result, advice.Add(err, "airgap status and airgap verify tell more; run the same command again for the lines that join the other hosts")
	}
	for _, n := range lost {
		line, err := r.joinLine(ctx, n, done.Changed > 0, p.Say)
		if err != nil {
			return result, err
		}
		result.Lost, result.Join = append(result.Lost, n.Name), append(result.Join, line)
	}
	if len(lost)+len(strangers) == 0 {
		err := verdict.OfSite(ctx, r.Site, verdict.Options{Kubeconfig: kube.AdminConf, SystemOnly: true, Skip: o.Skip, Timeout: o.Timeout, JoinedOnly: true}, p)
		if err != nil {
			return result, err
		}
		result.Verified = true
	}
	return result, nil
}

func (r Result) Write(w io.Writer) error {
	fmt.Fprintf(w, "%s: the cluster is back as %s had it", r.Node, r.Of)
	if !r.Taken.IsZero() {
		fmt.Fprintf(w, " on %s", r.Taken.Format("2006-01-02 15:04:05 UTC"))
	}
	fmt.Fprintf(w, ": %d keys of etcd (%d steps ran, %d held already)\n", r.Etcd.Keys, r.Changed, r.Unchanged)
	fmt.Fprintln(w, "Images that the site had pushed to the registries are in no backup: push them again.")
	site.WriteBackupKey(w, r.Node, r.BackupKey)
	if r.Verified {
		_, err := fmt.Fprintln(w, "The cluster is verified.")
		return err
	}
	for _, name := range r.Strangers {
		fmt.Fprintf(w, "Node %s is lost, and is not in airgap.yaml any more: kubectl delete node %s\n", name, name)
	}
	for _, name := range r.Lost {
		fmt.Fprintf(w, "Node %s is lost: join a host in its place, and run airgap verify then\n", name)
	}
	return join.WriteLines(w, r.Join)
}

// joinLine is how a lost host joins, with a code if that is wanted.
func (r Restoration) joinLine(ctx context.Context, n config.Node, withCode bool, say func(string, ...any)) (join.Line, error) {
	if withCode {
		return join.LineWithCode(ctx, r.Site, n, say)
	}
	return join.LineFor(r.Site, n)
}

// lost are the nodes of airgap.yaml that the cluster misses, and others that it
// misses.
func (r Restoration) lost(ctx context.Context) (nodes []config.Node, strangers []string, err error) {
	client, err := kube.Client(r.Site.Machine.Machine, kube.AdminConf)
	if err != nil {
		return nil, nil, err
	}
	silent, err := leave.Lost(ctx, client, r.From.Etcd.Revision)
	if err != nil {
		return nil, nil, err
	}
	if nodes, err = join.MissingNodes(ctx, r.Site); err != nil {
		return nil, nil, err
	}
	for _, name := range silent {
		if n, err := r.Site.Config.Node(name); err == nil {
			nodes = append(nodes, n)
		} else {
			strangers = append(strangers, name)
		}
	}
	return nodes, strangers, nil
}
