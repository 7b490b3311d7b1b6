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

// TestTrustChanged: the hint is a command with the repository's name, unless airgap.yaml
// requires the missing signature.
func TestTrustChanged(t *testing.T) {
	wrapped := func(required bool) error {
		return fmt.Errorf("plan bundle: %w", errors.Join(errors.New("other"), &rpm.TrustError{Repository: "baseos", Reason: "r", Required: required}))
	}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"changed":  {wrapped(false), "confirm the change with the vendor through another channel, then run airgap bundle --update baseos"},
		"required": {wrapped(true), "ask the operator of the repository for the signature; set signedMetadata: optional in packages.repositories only if the vendor does not sign the metadata"},
		"another":  {errors.New("x"), ""},
	} {
		if got := trustChanged(c.err); advice.Of(got) != c.want {
			t.Errorf("%s: %#v", name, got)
		}
	}
}

// TestRuntimeFromAPackage: the request has either the package or the archive of the runtime.
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

func TestRuntimeConflict(t *testing.T) {
	c := configtest.On(t, "el9", configtest.Kubernetes+"runtime: {source: "+runtime.FromPackage+"}\n")
	for problem, hinted := range map[string]bool{
		"packages.install asks for containerd.io-2.3.7, but it obsoletes runc-1.1-1.x86_64, which would be removed": true,
		"no package provides nfs-utils": false,
	} {
		err := runtimeConflict(c, &rpm.PlanError{OS: "el9", Problems: []string{problem}})
		if is := strings.Contains(advice.Of(err), "runtime.source: archive"); is != hinted {
			t.Errorf("%s: hinted %t", problem, is)
		}
	}
}
