package main

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/install"
	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/nodesteps"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/verdict"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
)

type installOptions struct {
	keys, skip []string
	node       string
	dryRun     bool
	noSSH      bool
	inPlace    bool
	timeout    wellTimeout
}

func (a *app) install() *cobra.Command {
	var o installOptions
	cmd := &cobra.Command{
		Use:   "install DIR",
		Short: "Make this server the first control-plane host, and the others nodes",
		Long: `Checks this server, copies the bundle into its store, serves it, and installs
packages, runtime and Kubernetes from there, then the add-ons of airgap.yaml as they
were rendered into the bundle; then verifies the cluster. The configuration is the
one inside the bundle. Pods of add-ons are not waited for: they may need a server
that has yet to join.

If that has a section ssh, the other servers are checked and joined too, at the same
time: with keys, an SSH agent or a password, and with sudo for anybody but root. Host
keys must be known, by known-hosts files or by nodes[].ssh.hostKey; at a terminal
airgap asks about one that is not. What each server said is in ` + site.HostLogDir + `.
Without the section, or with --no-ssh, the line to run on them is printed.

Nodes are added by a bundle that lists them, or a delta: the same command lets the new
ones in, and the others learn of them. airgap remove takes a node out. Another version
of Kubernetes is for airgap upgrade.

Nothing is changed before every check has passed. The command can be interrupted
at any point and run again: it goes on with what does not hold yet, and a second
run on a finished host changes nothing. What has drifted since is put right. Once the
bundle is copied DIR may also be its copy, where the stick is gone: airgap status names
it. A later bundle of the same cluster lies in ` + site.StoreDir + `/NAME-ID.

With --require-key the bundle must be signed with exactly that key, whatever key
airgap.rpm brought. The server keeps to it in later commands, and the servers that
join get it with their line, until --require-key names another one.

With --dry-run nothing is changed, not even a file of airgap's own: it checks this
server and lists what each step would change here, and which steps airgap join
would run on the other servers. Exit code 3 when a check fails.

--output html and junit are for the checks: where one fails, the reports of all
servers are written so. What else there is to say is text then.`,
		Example: "  airgap install /media/stick/bank --dry-run\n  airgap install /media/stick/bank\n  airgap install /media/stick/bank --require-key SHA256:4be0…   # signed with the site's own key",
		Args:    oneArg("the bundle's directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.dryRun {
				if err := a.noReport("airgap install --dry-run"); err != nil {
					return err
				}
			}
			return a.runInstall(cmd.Context(), args[0], o)
		},
	}
	keyFlags(cmd, &o.keys)
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "only say what would change, and on which host")
	cmd.Flags().StringSliceVar(&o.skip, "skip", nil, "preflight checks to leave out, by id; also of verify's rules those with the same one")
	cmd.Flags().StringVar(&o.node, "node", "", "which node of airgap.yaml this host is; default: by its addresses")
	cmd.Flags().BoolVar(&o.inPlace, "in-place", false, "serve the bundle from DIR instead of copying it to "+site.StoreDir+": DIR has to stay there, for pods and for servers that join")
	cmd.Flags().BoolVar(&o.noSSH, "no-ssh", false, "print the line for the other servers instead of joining them through SSH")
	o.timeout.flag(cmd.Flags(), "how long the cluster may take to be well at the end")
	return gives(cmd, asText, asJSON, asYAML, asJUnit, asHTML)
}

// installed is the result on stdout.
type installed struct {
	Node      string      `json:"node"`
	Changed   int         `json:"changed"`   // steps that ran
	Unchanged int         `json:"unchanged"` // steps whose result held already
	Join      []join.Line `json:"join,omitempty"`
	Hosts     []joined    `json:"hosts,omitempty"`     // the other ones, when they were joined through SSH
	Again     *join.Again `json:"again,omitempty"`     // nodes that have to be told of what has changed
	BackupKey string      `json:"backupKey,omitempty"` // fingerprint of the key that this host signs its backups with
}

func (a *app) runInstall(ctx context.Context, dir string, o installOptions) error {
	if err := mustBeRoot("install"); err != nil {
		return err
	}
	v, t, err := site.OpenWhole(dir, o.keys)
	if err != nil {
		return err
	}
	defer v.Close()
	b := v.Top()
	s, err := site.Fresh(b.Index(), o.node)
	if err != nil {
		return err
	}
	s.Required, s.Store.InPlace, s.Medium = t.Required, o.inPlace, host.DeviceOf(dir)
	if err := join.OfThisCluster(ctx, s); err != nil {
		return err
	}
	if first := s.Config.Master(); s.Node.Name != first.Name {
		return advice.Add(fmt.Errorf("install on %s: by airgap.yaml the first control-plane host is %s", s.Node.Name, first.Name), "run airgap install on %s, and airgap join here", first.Name)
	}
	if err := errors.Join(s.Machine.RefuseAmidReplacement("install"), install.RefuseUpgrade(ctx, s, dir)); err != nil {
		return err
	}
	if s.Config.SSH == nil || o.noSSH { // else install itself measures
		if err := hostcheck.TakeMeasured(s, site.MeasuredFile); err != nil {
			return err
		}
	}
	if o.dryRun {
		return a.rehearseInstall(ctx, s, o.skip, v, t.Keys)
	}
	release, err := hostcheck.LockHost()
	if err != nil {
		return err
	}
	defer release()
	f, err := a.connectFleet(ctx, s, b, o)
	if err != nil {
		return err
	}
	defer f.close()
	p := a.newProgress()
	if err := a.gate(ctx, s, o.skip, v, t.Keys, f, p); err != nil {
		return err
	}
	result, err := runSteps(ctx, install.Steps(s, v, t.Keys, p), p)
	if err != nil {
		return advice.Add(err, "run the same command again when it is mended: finished steps are not repeated")
	}
	return a.finishInstall(ctx, s, f, result, o, p)
}

func (a *app) rehearseInstall(ctx context.Context, s *site.Site, skip []string, v *bundle.View, trusted []*ecdsa.PublicKey) error {
	stored, err := install.Stored(s, v, trusted)
	if err != nil {
		return err
	}
	return a.rehearse(ctx, s, rehearsal{
		command: "install", skip: skip, stored: stored, packages: nodesteps.DryRunFrom(s, v),
		steps: install.Steps(s, v, trusted, ui.Discard()), others: otherHosts(s, v, trusted),
	})
}

// gate runs the checks and lets nothing happen unless all of them pass.
func (a *app) gate(ctx context.Context, s *site.Site, skip []string, v *bundle.View, trusted []*ecdsa.PublicKey, f *fleet, p ui.Progress) error {
	stored, err := install.Stored(s, v, trusted)
	if err != nil {
		return err
	}
	if f != nil {
		own, err := hostcheck.JudgeAtRest(ctx, s, skip, stored, nodesteps.DryRunFrom(s, v), p)
		if err != nil {
			return err
		}
		return a.gateAll(ctx, f, own, p)
	}
	return a.pass(ctx, s, skip, stored, nodesteps.DryRunFrom(s, v), p)
}

// finishInstall verifies what was built and says how the others join. The
// code is made only when something changed: a run that changes nothing leaves
// the cluster as it was, too.
func (a *app) finishInstall(ctx context.Context, s *site.Site, f *fleet, done step.Result, o installOptions, p ui.Progress) error {
	if f != nil {
		return a.finishFleet(ctx, f, done, o.timeout, p)
	}
	report, err := verdict.OfSite(ctx, s, verdict.Options{Kubeconfig: kubeadm.AdminConf, SystemOnly: true, Skip: o.skip, Timeout: time.Duration(o.timeout), JoinedOnly: true}, p)
	if err != nil {
		return err
	}
	if !report.OK {
		return a.showVerdict(report)
	}
	result := installed{Node: s.Node.Name, Changed: done.Changed, Unchanged: done.Unchanged, BackupKey: backupKey()}
	if result.Join, err = join.Lines(ctx, s, done.Changed > 0, p.Say); err != nil {
		return err
	}
	if done.Changed > 0 {
		if result.Again, err = join.AgainSteps(ctx, s); err != nil {
			return err
		}
	}
	return a.print(result, func(w io.Writer) error { return writeInstalled(w, result) })
}

func writeInstalled(w io.Writer, r installed) error {
	if r.Changed == 0 {
		fmt.Fprintf(w, "%s: nothing to do, all %d steps hold; the cluster is verified\n", r.Node, r.Unchanged)
	} else {
		fmt.Fprintf(w, "%s: installed and verified (%d steps ran, %d held already)\n", r.Node, r.Changed, r.Unchanged)
		writeBackupKey(w, r.Node, r.BackupKey)
	}
	return errors.Join(join.WriteLines(w, r.Join), r.Again.Write(w))
}
