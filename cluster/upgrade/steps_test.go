package upgrade

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/cluster/upgraderecord"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/leave"
)

// TestRepeatUntilChanged: the upgrade is compared with, and rolled back to, the state right before the first
// change of a host, not the state before an interrupted run.
func TestRepeatUntilChanged(t *testing.T) {
	changed, written, runs := false, true, 0 // an earlier run has written it
	of := func() step.Step {
		return repeatUntilChanged(step.Step{
			Name: "baseline",
			Done: func(context.Context) (bool, error) { return written, nil },
			Run:  func(context.Context) error { written = true; runs++; return nil },
		}, func() (bool, error) { return changed, nil })
	}
	for i, want := range []int{1, 2, 2, 2} { // the third and fourth run are after the change
		changed = i >= 2
		if _, err := step.Run(t.Context(), step.OpenJournal(filepath.Join(t.TempDir(), "journal")), []step.Step{of()}, func(step.Event) {}); err != nil || runs != want {
			t.Errorf("run %d: the step ran %d times, want %d: %v", i, runs, want, err)
		}
	}
}

// TestStepsOfAnUpgrade: before the first change, every host has its images, and every control-plane host its
// backup. Then the hosts are upgraded one after the other, control-plane hosts before workers. The cluster
// is compared after each host.
func TestStepsOfAnUpgrade(t *testing.T) {
	c := sitetest.ClusterFrom(t, "1.35.8", "1.36.3", "packages:", `  - {name: w2, address: 192.0.2.22, roles: [worker]}
  - {name: cp2, address: 192.0.2.12, roles: [control-plane]}
  - {name: cp3, address: 192.0.2.13, roles: [control-plane]}
packages:`)
	m := kubeadm.Machine{Member: leave.Member{Machine: host.Machine{Host: sitetest.FilesHost{"proc/1/comm": {Data: []byte("systemd\n")}}, Root: t.TempDir()}}}
	putFiles(t, m.Root, map[string]string{site.StateDir + "/kubeadm.state": "ended\n", site.StateDir + "/kubeadm.configured": `{"version":"1.35.8"}`})
	u := &upgrade{rollout: rollout{
		site: &site.Site{Index: &bundle.Index{Lock: bundle.Lock{Images: sitetest.Images(t, c)}}, Config: c, Node: c.Nodes[0], Machine: m}, view: bundle.NewView(), p: ui.Discard(),
		record: upgraderecord.Record{To: upgraderecord.BundleRef{ID: strings.Repeat("b", 64)}},
		nodes:  map[string]corev1.Node{"cp1": {}, "cp2": {}, "cp3": {}, "w1": {}, "w2": {}}, journal: step.OpenJournal(filepath.Join(m.Root, "journal")),
	}}
	steps, err := u.steps(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"upgrade-record", "baseline", "store", "registry", "images", "prepare", "backup-before", "upgrade-begins",
		"packages-kubeadm", "kubeadm-upgrade", "drain", "packages", "runtime", "kubelet-upgrade", "uncordon", "compare-cp1",
		"upgrade-cp2", "compare-cp2", "upgrade-cp3", "compare-cp3", "kube-proxy",
		"upgrade-w1", "compare-w1", "upgrade-w2", "compare-w2",
		"network", "compare-", "upgrade-ends",
	}
	var got []string
	for _, name := range sitetest.StepNames(steps) {
		if slices.Contains(want, name) {
			got = append(got, name)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the order is\n%q, want\n%q; all steps: %q", got, want, sitetest.StepNames(steps))
	}
}
