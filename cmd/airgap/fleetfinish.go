package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/verdict"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
)

// finishFleet joins the other hosts and verifies the whole cluster. When one of
// them did not join, the result says how far each came, and there is no verdict.
func (a *app) finishFleet(ctx context.Context, f *fleet, done step.Result, timeout wellTimeout, p ui.Progress) error {
	s := f.site
	result := installed{Node: s.Node.Name, Changed: done.Changed, Unchanged: done.Unchanged, Hosts: f.join(ctx, p), BackupKey: backupKey()}
	if err := ctx.Err(); err != nil {
		return err
	}
	bad := f.problems(ctx, "did not join", "mend it and run the same command again: what is done is not repeated; "+site.HostLogDir+" has all that they said")
	if bad == nil {
		report, err := verdict.OfSite(ctx, s, verdict.Options{Kubeconfig: kubeadm.AdminConf, SystemOnly: true, Skip: f.skip, Timeout: time.Duration(timeout)}, p)
		if err != nil {
			return err
		}
		if !report.OK {
			return a.showVerdict(report)
		}
	}
	return errors.Join(a.print(result, func(w io.Writer) error { return writeCluster(w, result) }), bad)
}

func writeCluster(w io.Writer, r installed) error {
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
			writeBackupKey(w, h.Node, h.BackupKey)
		}
	}
	if failed > 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "the cluster is verified: %s, all as airgap.yaml has them\n", ui.Count(len(r.Hosts)+1, "node"))
	return err
}
