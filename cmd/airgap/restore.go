package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/install"
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

type restoreOptions struct {
	bundle     string
	keys, skip []string
	node       string
	dryRun     bool
	timeout    wellTimeout
	backup     backupOptions
}

func (a *app) restore() *cobra.Command {
	var o restoreOptions
	cmd := &cobra.Command{
		Use:   "restore BACKUP --bundle DIR --backup-key KEY",
		Short: "Have a lost cluster back on this server, from a backup",
		Long: `Makes this server, which has no cluster, the first control-plane host of the one
that airgap backup has kept in the directory BACKUP: with its keys, its Secrets and
all its objects as they were then. What came later is gone. Any control-plane host
of airgap.yaml will do, also with a backup that another one took.

The steps are those of airgap install, from the bundle in DIR, which must have the
same minor of Kubernetes. Of the backup come the cluster's and the registry's
authorities, the keys of service accounts and of Secrets, who may push, and etcd's
data, as a single member. Certificates are made anew for this host.

First everything is checked: that the backup is signed with a key that --backup-key
names, that it is whole, that etcd's snapshot verifies,
that keys fit certificates, that it is of this very cluster, that nobody answers at
its address any more, and what preflight checks. Nothing is changed before that. The
command can be interrupted at any point and run again; airgap reset takes it back.

The fingerprints of the lost hosts' keys come from your records. So does the identity
that decrypts an encrypted backup: --identity names its file, else it is asked for.
--allow-unsigned takes a backup that an older airgap made, and did not sign: anyone who
could write to its place can have changed it. The keys that sign bundles come from
--require-key or from airgap.rpm, never from the backup.

Afterwards hosts that were lost are joined anew, each with the line that is printed:
nodes of the same names take the places of the lost ones, and their pods start
there. Workers that are still alive come back by themselves. A control-plane host
that is still alive has an etcd of its own, with what the cluster was: copy its
backups and pushed images away if you need them, run airgap reset --wipe-data there,
before or after, which deletes them, and join it.

Not in a backup, and not restored: images that the site has pushed to the registries
(push them again), what pods kept on volumes of their hosts, add-ons' data. What the
old host's journal said is kept in ` + site.RestoredDir + `.`,
		Example: "  airgap restore /mnt/nas/bank/20261123T020000Z --bundle /media/stick/bank --backup-key SHA256:4be0… --dry-run\n  airgap restore /mnt/nas/bank/20261123T020000Z --bundle /media/stick/bank --backup-key SHA256:4be0… --identity /media/safe/identity",
		Args:    oneArg("the backup's directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.bundle == "" {
				return advice.Usagef("airgap restore: --bundle is missing: the directory of the bundle that the cluster was installed from, or of a newer one with the same minor of Kubernetes")
			}
			if len(o.backup.keys) == 0 && !o.backup.unsigned {
				return advice.Usagef("airgap restore: --backup-key is missing: the fingerprint that airgap install, backup or status printed on the host that made the backup; --allow-unsigned takes a backup whoever made it")
			}
			return a.runRestore(cmd.Context(), args[0], o)
		},
	}
	keyFlags(cmd, &o.keys)
	o.backup.flags(cmd, "")
	cmd.Flags().StringVar(&o.backup.identity, "identity", "", "file with the private half of a recipient that the backup is encrypted to: an age identity, or an SSH private key; default: prompt, or standard input when it is not a terminal")
	cmd.Flags().StringVar(&o.bundle, "bundle", "", "directory of the bundle to install from")
	cmd.Flags().StringVar(&o.node, "node", "", "which control-plane node of airgap.yaml this host is; default: by its addresses")
	cmd.Flags().StringSliceVar(&o.skip, "skip", nil, "preflight checks to leave out, by id; also of verify's rules those with the same one")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "only say what would change here")
	o.timeout.flag(cmd.Flags(), "how long the cluster may take to be well at the end, where nobody is missing")
	return cmd
}

func (a *app) runRestore(ctx context.Context, dir string, o restoreOptions) error {
	if err := mustBeRoot("restore"); err != nil {
		return err
	}
	from, remove, err := a.fetchBackup(ctx, dir, site.StateDir, o.backup)
	if err != nil {
		return err
	}
	defer remove()
	if err := from.heldTo(o.keys); err != nil {
		return err
	}
	v, t, err := site.OpenWhole(o.bundle, o.keys)
	if err != nil {
		return err
	}
	defer v.Close()
	s, err := site.New(v.Top().Index(), o.node)
	if err != nil {
		return err
	}
	s.Required, s.Medium = t.Required, host.DeviceOf(o.bundle)
	r := restoration{site: s, from: from}
	if err := r.check(ctx); err != nil {
		return err
	}
	stored, err := install.Stored(s, v, t.Keys)
	if err != nil {
		return err
	}
	if o.dryRun {
		return a.rehearse(ctx, s, rehearsal{command: "restore", skip: o.skip, stored: stored, packages: nodesteps.DryRunFrom(s, v), steps: r.steps(v, t.Keys, ui.Discard())})
	}
	release, err := hostcheck.LockHost()
	if err != nil {
		return err
	}
	defer release()
	p := a.newProgress()
	if err := a.pass(ctx, s, o.skip, stored, nodesteps.DryRunFrom(s, v), p); err != nil {
		return err
	}
	done, err := runSteps(ctx, r.steps(v, t.Keys, p), p)
	if err != nil {
		return advice.Add(err, "run the same command again when it is mended: finished steps are not repeated")
	}
	return a.finishRestore(ctx, r, done, o, p)
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

// finishRestore says who is missing and how they join. With them the cluster is
// not what a verdict would ask for: there is one when nobody is.
func (a *app) finishRestore(ctx context.Context, r restoration, done step.Result, o restoreOptions, p ui.Progress) error {
	result := restored{
		Node: r.site.Node.Name, Taken: r.from.Taken, Of: r.from.Node, Etcd: r.from.etcd,
		Changed: done.Changed, Unchanged: done.Unchanged, BackupKey: backupKey(),
	}
	p.Now("Wait for the other hosts to be heard of, or given up")
	lost, strangers, err := r.lost(ctx)
	result.Strangers = strangers
	if err != nil {
		return advice.Add(err, "airgap status and airgap verify tell more; run the same command again for the lines that join the other hosts")
	}
	for _, n := range lost {
		line, err := r.joinLine(ctx, n, done.Changed > 0, p.Say)
		if err != nil {
			return err
		}
		result.Lost, result.Join = append(result.Lost, n.Name), append(result.Join, line)
	}
	if len(lost)+len(strangers) == 0 {
		report, err := verdict.OfSite(ctx, r.site, verdict.Options{Kubeconfig: kubeadm.AdminConf, SystemOnly: true, Skip: o.skip, Timeout: time.Duration(o.timeout), JoinedOnly: true}, p)
		if err != nil {
			return err
		}
		if !report.OK {
			return a.showVerdict(report)
		}
		result.Verified = true
	}
	return a.print(result, result.write)
}

func (r restored) write(w io.Writer) error {
	fmt.Fprintf(w, "%s: the cluster is back as %s had it", r.Node, r.Of)
	if !r.Taken.IsZero() {
		fmt.Fprintf(w, " on %s", r.Taken.Format("2006-01-02 15:04:05 UTC"))
	}
	fmt.Fprintf(w, ": %d keys of etcd (%d steps ran, %d held already)\n", r.Etcd.Keys, r.Changed, r.Unchanged)
	fmt.Fprintln(w, "Images that the site had pushed to the registries are in no backup: push them again.")
	writeBackupKey(w, r.Node, r.BackupKey)
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

// LineFor is how a lost host joins, with a code if that is wanted.
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
