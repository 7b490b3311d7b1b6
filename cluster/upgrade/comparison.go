package upgrade

import (
	"context"
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/cluster/upgraderecord"
	"airgap.dev/airgap/cluster/verification"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/verify"
	"airgap.dev/airgap/verify/result"
)

// comparison compares the cluster with its state before the upgrade, after a change of hosts. A finding that is not
// because of these hosts does not stop the upgrade: it is recorded, and counts as known in the next comparisons.
type comparison struct {
	hosts    []string // none: at the end
	findings upgraderecord.Attributed
	say      func(format string, args ...any)
}

func (c comparison) run(ctx context.Context, v verify.Options, before result.Baseline) error {
	earlier, err := c.findings.Elsewhere()
	if err != nil {
		return err
	}
	change, err := c.findings.Change(c.hosts, before.Snapshot)
	if err != nil {
		return err
	}
	before.Findings = slices.Clone(before.Findings)
	for _, f := range earlier {
		before.Findings = append(before.Findings, f.KnownFinding)
	}
	v.Baseline, v.Elsewhere, v.Snapshot = &before, change.Elsewhere, true
	report, err := verify.Run(ctx, v)
	if err != nil {
		return err
	}
	added, err := c.findings.Note(c.hosts, report)
	if err != nil {
		return err
	}
	for _, f := range added {
		c.say("not because of %s: %s; it stays in the report", result.Abbreviate(c.hosts), f)
	}
	return verification.Failed(report)
}

// noteRan records the workloads with pods on a host, before the host is drained or changed.
func (r *rollout) noteRan(ctx context.Context, name string) error {
	pods, err := kube.Retry(ctx, func(ctx context.Context) (*corev1.PodList, error) {
		return r.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + name})
	})
	if err != nil {
		return fmt.Errorf("list the pods of %s: %w", name, err)
	}
	var owners []string
	for i := range pods.Items {
		owners = append(owners, verify.OwnerName(&pods.Items[i]))
	}
	return r.findings.NoteRan(name, owners)
}

// writeElsewhere lists the findings that did not stop an upgrade or a rollback.
func writeElsewhere(w io.Writer, all []upgraderecord.Elsewhere) error {
	if len(all) == 0 {
		return nil
	}
	fmt.Fprintf(w, "%s did not count, because the cause is not in the hosts that were changed:\n", ui.Count(len(all), "finding"))
	for _, f := range all {
		state := ""
		if !f.Stands {
			state = "; gone at the end"
		}
		fmt.Fprintf(w, "  %s (found after %s%s)\n", f, result.Abbreviate(f.Hosts), state)
	}
	_, err := fmt.Fprintln(w, "airgap verify shows those that are left, with their fixes")
	return err
}
