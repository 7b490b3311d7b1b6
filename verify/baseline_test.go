package verify

import (
	"bytes"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"airgap.dev/airgap/verify/result"
)

// FuzzReadBaseline checks that each baseline that can be read is complete and can be used.
func FuzzReadBaseline(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"airgap.dev/v1alpha1","kind":"VerifyBaseline","cluster":"x","taken":"2026-11-21T08:00:00Z","snapshot":{"nodes":{},"workloads":{},"containers":{"a":{}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := result.ReadBaseline(bytes.NewReader(data))
		if err != nil {
			return
		}
		v := seen(t, node("w1", corev1.ConditionTrue), pod("kube-system", "x", "w1"))
		baselineExists(b).judge(v)
		noRestarts(b).judge(v)
		result.Differences(b.Snapshot, v.snapshot())
		markKnown(b, v, "pods", []Finding{{Object: "Pod kube-system/x"}})
	})
}
