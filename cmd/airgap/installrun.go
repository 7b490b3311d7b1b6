package main

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"io"
	"time"

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

// installOptions are those of airgap install.
type installOptions struct {
	dir     string        // the bundle's
	keys    []string      // of --require-key
	skip    []string      // preflight checks; also rules of verify
	node    string        // which of airgap.yaml this host is; "": by its addresses
	noSSH   bool          // leave the other hosts to airgap join
	inPlace bool          // serve the bundle from dir
	timeout time.Duration // for the cluster to be well at the end
	console ui.Console
}

// installed is the result of an installation.
type installed struct {
	Node      string      `json:"node"`
	Changed   int         `json:"changed"`   // steps that ran
	Unchanged int         `json:"unchanged"` // steps whose result held already
	Join      []join.Line `json:"join,omitempty"`
	Hosts     []joined    `json:"hosts,omitempty"`     // the other ones, when they were joined through SSH
	Again     *join.Again `json:"again,omitempty"`     // nodes that have to be told of what has changed
	BackupKey string      `json:"backupKey,omitempty"` // fingerprint of the key that this host signs its backups with
}

// installation is one that may begin: its host is the first one, and in no other cluster.
type installation struct {
	options installOptions
	site    *site.Site
	view    *bundle.View
	trusted []*ecdsa.PublicKey
}

// installHere makes this host the first control-plane host, and the others nodes where they are
// reached through SSH. Where some of those did not join, there are a result and an error.
func installHere(ctx context.Context, o installOptions) (installed, error) {
	i, err := beginInstall(ctx, o)
	if err != nil {
		return installed{}, err
	}
	defer i.view.Close()
	release, err := hostcheck.LockHost()
	if err != nil {
		return installed{}, err
	}
	defer release()
	f, err := connectFleet(ctx, i.site, i.view.Top(), fleetOptions{console: o.console, skip: o.skip, noSSH: o.noSSH})
	if err != nil {
		return installed{}, err
	}
	defer f.close()
	p := o.console.Progress()
	if err := gate(ctx, i.site, o.skip, i.view, i.trusted, f, p); err != nil {
		return installed{}, err
	}
	result, err := runSteps(ctx, install.Steps(i.site, i.view, i.trusted, p), p)
	if err != nil {
		return installed{}, advice.Add(err, "run the same command again when it is mended: finished steps are not repeated")
	}
	if f != nil {
		return i.finishFleet(ctx, f, result, p)
	}
	return i.finish(ctx, result, p)
}

// beginInstall finds out whether this is the host and the bundle to install. The caller closes
// the view.
func beginInstall(ctx context.Context, o installOptions) (_ *installation, err error) {
	if err := hostcheck.MustBeRoot("install"); err != nil {
		return nil, err
	}
	v, t, err := openWhole(o.dir, o.keys)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			v.Close()
		}
	}()
	s, err := site.Fresh(v.Top().Index(), o.node)
	if err != nil {
		return nil, err
	}
	s.Required, s.Store.InPlace, s.Medium = t.Required, o.inPlace, host.DeviceOf(o.dir)
	if err := join.OfThisCluster(ctx, s); err != nil {
		return nil, err
	}
	if first := s.Config.Master(); s.Node.Name != first.Name {
		return nil, advice.Add(fmt.Errorf("install on %s: by airgap.yaml the first control-plane host is %s", s.Node.Name, first.Name), "run airgap install on %s, and airgap join here", first.Name)
	}
	if err := errors.Join(s.Machine.RefuseAmidReplacement("install"), install.RefuseUpgrade(ctx, s, o.dir)); err != nil {
		return nil, err
	}
	if s.Config.SSH == nil || o.noSSH { // else install itself measures
		if err := hostcheck.TakeMeasured(s, site.MeasuredFile); err != nil {
			return nil, err
		}
	}
	return &installation{o, s, v, t.Keys}, nil
}

// rehearseInstall says what installHere would change, and on which host.
func rehearseInstall(ctx context.Context, o installOptions) (dryRun, error) {
	i, err := beginInstall(ctx, o)
	if err != nil {
		return dryRun{}, err
	}
	defer i.view.Close()
	stored, err := i.site.InStore(i.view, i.trusted)
	if err != nil {
		return dryRun{}, err
	}
	return rehearse(ctx, i.site, o.console, rehearsal{
		command: "install", skip: o.skip, stored: stored, packages: nodesteps.DryRunFrom(i.site, i.view),
		steps: install.Steps(i.site, i.view, i.trusted, ui.Discard()), others: otherHosts(i.site, i.view, i.trusted),
	})
}

// gate runs the checks and lets nothing happen unless all of them pass.
func gate(ctx context.Context, s *site.Site, skip []string, v *bundle.View, trusted []*ecdsa.PublicKey, f *fleet, p ui.Progress) error {
	stored, err := s.InStore(v, trusted)
	if err != nil {
		return err
	}
	if f == nil {
		return hostcheck.Pass(ctx, s, skip, stored, nodesteps.DryRunFrom(s, v), p)
	}
	own, err := hostcheck.JudgeAtRest(ctx, s, skip, stored, nodesteps.DryRunFrom(s, v), p)
	if err != nil {
		return err
	}
	return f.gate(ctx, own, p)
}

// finish verifies what was built and says how the others join. The
// code is made only when something changed: a run that changes nothing leaves
// the cluster as it was, too.
func (i *installation) finish(ctx context.Context, done step.Result, p ui.Progress) (installed, error) {
	s := i.site
	err := verdict.OfSite(ctx, s, verdict.Options{Kubeconfig: kubeadm.AdminConf, SystemOnly: true, Skip: i.options.skip, Timeout: i.options.timeout, JoinedOnly: true}, p)
	if err != nil {
		return installed{}, err
	}
	result := installed{Node: s.Node.Name, Changed: done.Changed, Unchanged: done.Unchanged, BackupKey: site.BackupKey()}
	if result.Join, err = join.Lines(ctx, s, done.Changed > 0, p.Say); err != nil {
		return installed{}, err
	}
	if done.Changed > 0 {
		if result.Again, err = join.AgainSteps(ctx, s); err != nil {
			return installed{}, err
		}
	}
	return result, nil
}

// finishFleet joins the other hosts and verifies the whole cluster. When one of
// them did not join, the result says how far each came, and there is no verdict.
func (i *installation) finishFleet(ctx context.Context, f *fleet, done step.Result, p ui.Progress) (installed, error) {
	s := i.site
	result := installed{Node: s.Node.Name, Changed: done.Changed, Unchanged: done.Unchanged, Hosts: f.join(ctx, p), BackupKey: site.BackupKey()}
	if err := ctx.Err(); err != nil {
		return installed{}, err
	}
	if bad := f.problems(ctx, "did not join", "mend it and run the same command again: what is done is not repeated; "+site.HostLogDir+" has all that they said"); bad != nil {
		return result, bad
	}
	err := verdict.OfSite(ctx, s, verdict.Options{Kubeconfig: kubeadm.AdminConf, SystemOnly: true, Skip: i.options.skip, Timeout: i.options.timeout}, p)
	if err != nil {
		return installed{}, err
	}
	return result, nil
}

// write says it in words.
func (r installed) write(w io.Writer) error {
	if len(r.Hosts) > 0 {
		return r.writeCluster(w)
	}
	if r.Changed == 0 {
		fmt.Fprintf(w, "%s: nothing to do, all %d steps hold; the cluster is verified\n", r.Node, r.Unchanged)
	} else {
		fmt.Fprintf(w, "%s: installed and verified (%d steps ran, %d held already)\n", r.Node, r.Changed, r.Unchanged)
		site.WriteBackupKey(w, r.Node, r.BackupKey)
	}
	return errors.Join(join.WriteLines(w, r.Join), r.Again.Write(w))
}

func (r installed) writeCluster(w io.Writer) error {
	failed := 0
	for _, h := range r.Hosts {
		if h.Error != "" {
			failed++
		}
	}
	for _, h := range append([]joined{{Node: r.Node, Changed: r.Changed, Unchanged: r.Unchanged, BackupKey: r.BackupKey}}, r.Hosts...) {
		switch {
		case h.Error != "":
			fmt.Fprintf(w, "%s: did not join\n", h.Node)
		case h.Changed == 0:
			fmt.Fprintf(w, "%s: nothing to do, all %d steps hold\n", h.Node, h.Unchanged)
		default:
			fmt.Fprintf(w, "%s: done (%d steps ran, %d held already)\n", h.Node, h.Changed, h.Unchanged)
			site.WriteBackupKey(w, h.Node, h.BackupKey)
		}
	}
	if failed > 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "the cluster is verified: %s, all as airgap.yaml has them\n", ui.Count(len(r.Hosts)+1, "node"))
	return err
}
