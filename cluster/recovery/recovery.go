// Package recovery takes backups of the control plane, and restores a lost cluster from one.
package recovery

import (
	"context"
	"fmt"
	"io"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/clusterlock"
	"airgap.dev/airgap/cluster/dryrun"
	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/journal"
	"airgap.dev/airgap/cluster/nodesteps"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/verification"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/etcd"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/leave"
	"airgap.dev/airgap/verify/result"
)

// Options are the flags of airgap restore.
type Options struct {
	Dir     string        // of the backup
	Bundle  string        // directory of the bundle to install from
	Keys    []string      // of --require-key
	Skip    []string      // preflight checks, and rules of verify
	Node    string        // name of this host in airgap.yaml; "": by its addresses
	Timeout time.Duration // until the cluster is healthy at the end
	Backup  BackupTrust
	Console ui.Console
}

// ready is a checked backup with its checked bundle.
type ready struct {
	Restoration
	view   *bundle.View
	trust  *site.Trust
	stored bool   // the bundle is in this host's store
	close  func() // removes the copy of the backup
}

// begin opens and checks the backup and the bundle. Nothing is changed.
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
	if err := from.checkRequiredKeys(o.Keys); err != nil {
		return nil, err
	}
	if r.view, r.trust, err = site.OpenWhole(o.Bundle, o.Keys); err != nil {
		return nil, err
	}
	r.close = func() { r.view.Close(); remove() }
	site.WarnOfAltered(r.view.Top(), o.Console.Progress().Say)
	s, err := site.New(r.view.Top().Index(), o.Node)
	if err != nil {
		return nil, err
	}
	s = s.With(site.Given{Required: r.trust.Required, Medium: host.DevicesOf(o.Bundle)})
	r.Restoration = Restoration{Site: s, From: from}
	if err := r.check(ctx); err != nil {
		return nil, err
	}
	r.stored, err = s.InStore(r.view, r.trust.Keys)
	return r, err
}

// DryRun returns the changes that Run would make.
func DryRun(ctx context.Context, o Options) (dryrun.Plan, error) {
	r, err := begin(ctx, o)
	if err != nil {
		return dryrun.Plan{}, err
	}
	defer r.close()
	return dryrun.Run(ctx, r.Site, o.Console, dryrun.Command{
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
	return clusterlock.During(ctx, clusterlock.Command{Machine: r.Site.Machine.Machine, Name: "airgap restore", Node: r.Site.Node.Name, Say: ui.Teller(o.Console)}, func(ctx context.Context) (Result, error) {
		return r.restore(ctx, o)
	})
}

// restore restores the cluster while this host has its lock and the cluster's.
func (r *ready) restore(ctx context.Context, o Options) (Result, error) {
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
		return Result{}, advice.Add(err, "fix the error and run the same command again: completed steps do not run again")
	}
	return r.finish(ctx, done, o, p)
}

// Result is the result on stdout.
type Result struct {
	Node      string            `json:"node"`
	Taken     time.Time         `json:"taken,omitzero"` // the backup
	Of        string            `json:"of"`             // host of the backup
	Etcd      etcd.SnapshotInfo `json:"etcd"`
	Changed   int               `json:"changed"`
	Unchanged int               `json:"unchanged"`
	Verified  bool              `json:"verified"`       // no host was missing, and the cluster was healthy
	Lost      []string          `json:"lost,omitempty"` // nodes that must join again
	Join      []join.Line       `json:"join,omitempty"`
	Strangers []string          `json:"strangers,omitempty"` // lost nodes that airgap.yaml no longer lists
	BackupKey string            `json:"backupKey,omitempty"` // fingerprint of the key that signs this host's backups
	Report    *result.Report    `json:"report,omitempty"`    // of the verification, if it failed
}

// finish returns the missing hosts with their join commands. It verifies the cluster only if no host is
// missing, because a missing host always fails verify.
func (r Restoration) finish(ctx context.Context, done step.Result, o Options, p ui.Progress) (Result, error) {
	result := Result{
		Node: r.Site.Node.Name, Taken: r.From.Taken, Of: r.From.Node, Etcd: r.From.Etcd,
		Changed: done.Changed, Unchanged: done.Unchanged, BackupKey: site.BackupKey(),
	}
	p.Now("Wait until the other hosts report, or are lost")
	lost, unlisted, err := r.lost(ctx)
	result.Strangers = unlisted
	if err != nil {
		return result, advice.Add(err, "find the cause with airgap status and airgap verify; run the same command again for the join commands of the other hosts")
	}
	for _, n := range lost {
		line, err := r.joinLine(ctx, n, done.Changed > 0, p.Say)
		if err != nil {
			return result, err
		}
		result.Lost, result.Join = append(result.Lost, n.Name), append(result.Join, line)
	}
	if len(lost)+len(unlisted) == 0 {
		err := verification.OfSite(ctx, r.Site, verification.Options{Kubeconfig: kube.AdminConf, SystemOnly: true, Skip: o.Skip, Timeout: o.Timeout, JoinedOnly: true}, p)
		if err != nil {
			result.Report = verification.ReportIn(err)
			return result, err
		}
		result.Verified = true
	}
	return result, nil
}

func (r Result) Write(w io.Writer) error {
	fmt.Fprintf(w, "%s: the cluster is restored from the backup of %s", r.Node, r.Of)
	if !r.Taken.IsZero() {
		fmt.Fprintf(w, " from %s", r.Taken.Format("2006-01-02 15:04:05 UTC"))
	}
	fmt.Fprintf(w, ": %d etcd keys (%d steps ran, %d were up to date)\n", r.Etcd.Keys, r.Changed, r.Unchanged)
	fmt.Fprintln(w, "A backup does not contain images that the site pushed to the registries: push them again.")
	site.WriteBackupKey(w, r.Node, r.BackupKey)
	if r.Verified {
		_, err := fmt.Fprintln(w, "The cluster is verified.")
		return err
	}
	for _, name := range r.Strangers {
		fmt.Fprintf(w, "Node %s is lost, and airgap.yaml no longer lists it: kubectl delete node %s\n", name, name)
	}
	for _, name := range r.Lost {
		fmt.Fprintf(w, "Node %s is lost: join a host in its place, then run airgap verify\n", name)
	}
	return join.WriteLines(w, r.Join)
}

// joinLine returns the join command of a lost host, with a join token if withToken is set.
func (r Restoration) joinLine(ctx context.Context, n config.Node, withToken bool, say func(string, ...any)) (join.Line, error) {
	if withToken {
		return join.LineWithToken(ctx, r.Site, n, say)
	}
	return join.LineFor(r.Site, n)
}

// lost returns the nodes of airgap.yaml that are missing in the cluster, and the names of missing nodes
// that airgap.yaml does not list.
func (r Restoration) lost(ctx context.Context) (nodes []config.Node, unlisted []string, err error) {
	client, err := kube.Client(r.Site.Machine.Machine, kube.AdminConf)
	if err != nil {
		return nil, nil, err
	}
	silent, err := leave.LostNodes(ctx, client, r.From.Etcd.Revision)
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
			unlisted = append(unlisted, name)
		}
	}
	return nodes, unlisted, nil
}
