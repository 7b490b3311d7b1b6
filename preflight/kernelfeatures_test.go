package preflight

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"airgap.dev/airgap/preflight/facts"
)

// TestKernelConfigNamesFeatures: missing features are named, and change no result. A survey of an older airgap has none.
func TestKernelConfigNamesFeatures(t *testing.T) {
	f := &facts.Facts{Cgroup: facts.Cgroup{Mode: "v2"}, KernelOptions: map[string]string{}}
	for _, o := range slices.Concat(facts.RequiredOptions("v2"), facts.OptionalOptions()) {
		f.KernelOptions[o] = "y"
	}
	said := func(features facts.KernelFeatures) string {
		f.KernelFeatures = features
		r := judgeKernelConfig(f, &Want{})
		assert.Equal(t, Pass, r.Status)
		return r.Found
	}
	assert.NotContains(t, said(facts.KernelFeatures{}), "without")
	assert.NotContains(t, said(facts.KernelFeatures{NFTables: true, Overlayfs: true, UserNamespaces: true, BTF: true, MemoryHigh: true, PSI: true}), "without")
	assert.Contains(t, said(facts.KernelFeatures{NFTables: true, Overlayfs: true, UserNamespaces: true, BTF: true}), "; the kernel is without memory.high, PSI")
}
