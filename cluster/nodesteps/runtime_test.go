package nodesteps

import (
	"slices"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/internal/nevra"
	"airgap.dev/airgap/internal/ui"
)

func noSource() Source { return nil }

// TestRuntimeFromAPackage: the package is locked, and no step unpacks an
// archive; with the archive it is the other way round.
func TestRuntimeFromAPackage(t *testing.T) {
	for _, tc := range []struct{ settings, locked string }{
		{"", ""},
		{"runtime: {source: package}", "containerd.io"},
		{"runtime: {name: crio, source: package}", "cri-o"},
	} {
		s := sitetest.SettingsSite(t, tc.settings)
		built, err := Steps(s, noSource(), "192.0.2.11:5000", ui.Discard())
		if err != nil {
			t.Fatal(err)
		}
		steps := sitetest.StepNames(built)
		if slices.Contains(steps, "runtime-files") != (tc.locked == "") || !slices.Contains(steps, "runtime") {
			t.Errorf("%s: %v", tc.settings, steps)
		}
		s.Index.Lock.Packages = []bundle.Package{{NEVRA: nevra.MustParse("kubelet-0:1.36.3-1.x86_64")},
			{NEVRA: nevra.MustParse("containerd.io-0:2.3.7-1.el9.x86_64")}, {NEVRA: nevra.MustParse("cri-o-0:1.36.3-1.x86_64")}}
		locks, err := VersionLock(s)
		want := slices.DeleteFunc([]string{tc.locked, "kubelet"}, func(name string) bool { return name == "" })
		var have []string
		for _, p := range locks.Packages {
			have = append(have, p.Name)
		}
		slices.Sort(have)
		if err != nil || !slices.Equal(have, want) {
			t.Errorf("%s: locked are %v, %v, want %v", tc.settings, have, err, want)
		}
	}
}
