package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config/configtest"
	"airgap.dev/airgap/kubeadm/runtime"
)

// TestTrustChanged: what to do is a command with the repository's name, but where
// airgap.yaml itself asks for what is missing.
func TestTrustChanged(t *testing.T) {
	wrapped := func(required bool) error {
		return fmt.Errorf("plan bundle: %w", errors.Join(errors.New("other"), &rpm.TrustError{Repository: "baseos", Reason: "r", Required: required}))
	}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"changed":  {wrapped(false), "ask its vendor on another way whether that is right, then take it: airgap bundle --update baseos"},
		"required": {wrapped(true), "ask those who run the repository for its signature; write signedMetadata: optional in packages.repositories only where its vendor signs none"},
		"another":  {errors.New("x"), ""},
	} {
		if got := trustChanged(c.err); advice.Of(got) != c.want {
			t.Errorf("%s: %#v", name, got)
		}
	}
}

// TestRuntimeFromAPackage: the package is asked for; with the archive it is the other way round.
func TestRuntimeFromAPackage(t *testing.T) {
	for _, tc := range []struct{ settings, spec, repository string }{
		{"", "", ""},
		{"runtime: {source: package}\n", "containerd.io-2.3.7", "docker-ce"},
		{"runtime: {name: crio, source: package}\n", "cri-o-1.36.3", "cri-o"},
	} {
		c := configtest.On(t, "el9", configtest.Kubernetes+tc.settings)
		r, err := packageRequest(c, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if tc.spec != "" && !slices.Contains(r.Install, tc.spec) || slices.ContainsFunc(r.Repositories, func(have rpm.Repository) bool { return have.Name == tc.repository }) != (tc.spec != "") {
			t.Errorf("%s: %v from %+v", tc.settings, r.Install, r.Repositories)
		}
		if archive := len(c.Runtime.Files("amd64")) > 0; archive != (tc.spec == "") || len(fileNeeds(c)) > 0 != archive {
			t.Errorf("%s: files of an archive: %t", tc.settings, archive)
		}
	}
}

func TestRuntimeInTheWay(t *testing.T) {
	c := configtest.On(t, "el9", configtest.Kubernetes+"runtime: {source: "+runtime.FromPackage+"}\n")
	for problem, hinted := range map[string]bool{
		"packages.install asks for containerd.io-2.3.7, but it obsoletes runc-1.1-1.x86_64, which would be removed": true,
		"no package provides nfs-utils": false,
	} {
		err := runtimeInTheWay(c, &rpm.PlanError{OS: "el9", Problems: []string{problem}})
		if is := strings.Contains(advice.Of(err), "runtime.source: archive"); is != hinted {
			t.Errorf("%s: hinted %t", problem, is)
		}
	}
}
