package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/nodesteps"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/verdict"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/etcd"
)

// restoreOptions are those of airgap restore.
type restoreOptions struct {
	dir     string        // the backup's
	bundle  string        // directory of the bundle to install from
	keys    []string      // of --require-key
	skip    []string      // preflight checks; also rules of verify
	node    string        // which of airgap.yaml this host is; "": by its addresses
	timeout time.Duration // for the cluster to be well at the end
	backup  backupOptions
	console ui.Console
}

// readyToRestore is a backup with the bundle to restore it from, once both are checked.
type readyToRestore struct {
	restoration
	view   *bundle.View
	trust  *site.Trust
	stored bool   // the bundle is in this host's store
	close  func() // removes the copy of the backup
}

// beginRestore checks all that can be known before anything is changed, but for preflight.
func beginRestore(ctx context.Context, o restoreOptions) (_ *readyToRestore, err error) {
	if err := hostcheck.MustBeRoot("restore"); err != nil {
		return nil, err
	}
	from, remove, err := fetchBackup(ctx, o.dir, site.StateDir, o.backup, o.console)
	if err != nil {
		return nil, err
	}
	r := &readyToRestore{close: remove}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	if err := from.heldTo(o.keys); err != nil {
		return nil, err
	}
	if r.view, r.trust, err = openWhole(o.bundle, o.keys); err != nil {
		return nil, err
	}
	r.close = func() { r.view.Close(); remove() }
	s, err := site.New(r.view.Top().Index(), o.node)
	if err != nil {
		return nil, err
	}
	s.Required, s.Medium = r.trust.Required, host.DeviceOf(o.bundle)
	r.restoration = restoration{site: s, from: from}
	if err := r.check(ctx); err != nil {
		return nil, err
	}
	r.stored, err = s.InStore(r.view, r.trust.Keys)
	return r, err
}

// rehearseRestore says what restoreHere would change.
func rehearseRestore(ctx context.Context, o restoreOptions) (dryRun, error) {
	r, err := beginRestore(ctx, o)
	if err != nil {
		return dryRun{}, err
	}
	defer r.close()
	return rehearse(ctx, r.site, o.console, rehearsal{
		command: "restore", skip: o.skip, stored: r.stored, packages: nodesteps.DryRunFrom(r.site, r.view), steps: r.steps(r.view, r.trust.Keys, ui.Discard()),
	})
}

// restoreHere makes this host the first control-plane host of a saved cluster.
func restoreHere(ctx context.Context, o restoreOptions) (restored, error) {
	r, err := beginRestore(ctx, o)
	if err != nil {
		return restored{}, err
	}
	defer r.close()
	release, err := hostcheck.LockHost()
	if err != nil {
		return restored{}, err
	}
	defer release()
	p := o.console.Progress()
	if err := hostcheck.Pass(ctx, r.site, o.skip, r.stored, nodesteps.DryRunFrom(r.site, r.view), p); err != nil {
		return restored{}, err
	}
	done, err := runSteps(ctx, r.steps(r.view, r.trust.Keys, p), p)
	if err != nil {
		return restored{}, advice.Add(err, "run the same command again when it is mended: finished steps are not repeated")
	}
	return r.finish(ctx, done, o, p)
}

// restored is the result on stdout.
type restored struct {
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
func (r restoration) finish(ctx context.Context, done step.Result, o restoreOptions, p ui.Progress) (restored, error) {
	result := restored{
		Node: r.site.Node.Name, Taken: r.from.Taken, Of: r.from.Node, Etcd: r.from.etcd,
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
		err := verdict.OfSite(ctx, r.site, verdict.Options{Kubeconfig: kubeadm.AdminConf, SystemOnly: true, Skip: o.skip, Timeout: o.timeout, JoinedOnly: true}, p)
		if err != nil {
			return result, err
		}
		result.Verified = true
	}
	return result, nil
}

func (r restored) write(w io.Writer) error {
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
func (r restoration) joinLine(ctx context.Context, n config.Node, withCode bool, say func(string, ...any)) (join.Line, error) {
	if withCode {
		return join.LineWithCode(ctx, r.site, n, say)
	}
	return join.LineFor(r.site, n)
}

// lost are the nodes of airgap.yaml that the cluster misses, and others that it
// misses.
func (r restoration) lost(ctx context.Context) (nodes []config.Node, strangers []string, err error) {
	client, err := r.site.Machine.Client(kubeadm.AdminConf)
	if err != nil {
		return nil, nil, err
	}
	silent, err := kubeadm.Lost(ctx, client, r.from.etcd.Revision)
	if err != nil {
		return nil, nil, err
	}
	if nodes, err = join.MissingNodes(ctx, r.site); err != nil {
		return nil, nil, err
	}
	for _, name := range silent {
		if n, err := r.site.Config.Node(name); err == nil {
			nodes = append(nodes, n)
		} else {
			strangers = append(strangers, name)
		}
	}
	return nodes, strangers, nil
}
