package main

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
)

func noSource() source { return nil }

// TestRuntimeFromAPackage: the package is asked for and locked, and no step unpacks an
// archive; with the archive it is the other way round.
func TestRuntimeFromAPackage(t *testing.T) {
	for _, tc := range []struct{ settings, spec, repository, locked string }{
		{"", "", "", ""},
		{"runtime: {source: package}", "containerd.io-2.3.7", "docker-ce", "containerd.io"},
		{"runtime: {name: crio, source: package}", "cri-o-1.36.3", "cri-o", "cri-o"},
	} {
		s := settingsSite(t, tc.settings)
		r, err := packageRequest(s.config, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if tc.spec != "" && !slices.Contains(r.Install, tc.spec) || slices.ContainsFunc(r.Repositories, func(have rpm.Repository) bool { return have.Name == tc.repository }) != (tc.spec != "") {
			t.Errorf("%s: %v from %+v", tc.settings, r.Install, r.Repositories)
		}
		if archive := len(s.config.Runtime.Files("amd64")) > 0; archive != (tc.spec == "") || len(fileNeeds(s.config)) > 0 != archive {
			t.Errorf("%s: files of an archive: %t", tc.settings, archive)
		}
		steps := names(s.nodeSteps(noSource(), "192.0.2.11:5000", ui.Discard()))
		if slices.Contains(steps, "runtime-files") != (tc.spec == "") || !slices.Contains(steps, "runtime") {
			t.Errorf("%s: %v", tc.settings, steps)
		}
		s.index.Lock.Packages = []bundle.Package{{NEVRA: "kubelet-0:1.36.3-1.x86_64"}, {NEVRA: "containerd.io-0:2.3.7-1.el9.x86_64"}, {NEVRA: "cri-o-0:1.36.3-1.x86_64"}}
		locks, err := s.versionLock()
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

func TestRuntimeInTheWay(t *testing.T) {
	c := settingsSite(t, "runtime: {source: "+kubeadm.FromPackage+"}").config
	for problem, hinted := range map[string]bool{
		"packages.install asks for containerd.io-2.3.7, but it obsoletes runc-1.1-1.x86_64, which would be removed": true,
		"no package has nfs-utils": false,
	} {
		err := runtimeInTheWay(c, &rpm.PlanError{OS: "el9", Problems: []string{problem}})
		said, is := errors.AsType[*coded](err)
		if is = is && strings.Contains(said.hint, "runtime.source: archive"); is != hinted {
			t.Errorf("%s: hinted %t", problem, is)
		}
	}
}
