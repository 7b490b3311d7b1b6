package verify

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/verify/nodereport"
)

func TestNextBoot(t *testing.T) {
	swap := nodereport.BootProblem{Check: "swap", Saw: "off now; the next boot turns on /dev/sdb (/etc/fstab line 4)", Want: "no active swap", Fix: "remove the line"}
	modules := nodereport.BootProblem{Check: "kernel-modules", Saw: "at the next boot, missing in 5.14.0: overlay", Want: "loadable", Fix: "install kernel-modules-extra-5.14.0"}
	for name, tc := range map[string]struct {
		problems []nodereport.BootProblem
		want     []Finding
	}{
		"nothing changes": {nil, nil},
		"swap returns":    {[]nodereport.BootProblem{swap}, []Finding{{Object: "Node w1, swap", Saw: swap.Saw}}},
		"two problems":    {[]nodereport.BootProblem{swap, modules}, []Finding{{Object: "Node w1, swap", Saw: swap.Saw}, {Object: "Node w1, kernel-modules", Saw: modules.Saw}}},
	} {
		t.Run(name, func(t *testing.T) {
			v := seen(t, node("w1", corev1.ConditionTrue), report(t, "w1", nodereport.Report{NextBoot: &nodereport.NextBoot{Problems: tc.problems}}))
			findings := nextBoot().judge(v)
			for i, f := range findings {
				require.Equal(t, "on w1: "+tc.problems[i].Fix, f.Fix)
			}
			wantSaw(t, findings, tc.want...)
		})
	}
}

// TestNextBootUnknown: a part that could not be read is not healthy. A host with an older airgap is not wrong.
func TestNextBootUnknown(t *testing.T) {
	says := func(program string, boot *nodereport.NextBoot, unknown ...nodereport.Unknown) nodereport.Report {
		return nodereport.Report{Heartbeat: metav1.NowMicro(), Program: program, NextBoot: boot, Unknown: unknown}
	}
	unread := nodereport.Unknown{Part: "nextBoot", Reason: "no answer within 1m0s"}
	for name, tc := range map[string]struct {
		first, second    nodereport.Report
		missing, nothing string
	}{
		"both":            {says("2", &nodereport.NextBoot{}), says("2", &nodereport.NextBoot{}), "", ""},
		"an older airgap": {says("2", &nodereport.NextBoot{}), says("1", nil), "", ""},
		"all are older":   {says("1", nil), says("1", nil), "", "no host reports nextBoot: the hosts run an older airgap"},
		"unreadable":      {says("2", &nodereport.NextBoot{}), says("2", nil, unread), "nextBoot could not be checked (no answer within 1m0s): w2", ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := seen(t, node("w1", corev1.ConditionTrue), node("w2", corev1.ConditionTrue), report(t, "w1", tc.first), report(t, "w2", tc.second))
			got := nextBoot().expects(v)
			require.Equal(t, tc.missing, got.missing)
			require.Equal(t, tc.nothing, got.nothing)
			require.Empty(t, nextBoot().judge(v))
		})
	}
}
