package enterprise

import (
	"slices"
	"testing"
)

// TestReleases: each row is complete, and found by its name.
func TestReleases(t *testing.T) {
	for _, r := range Releases() {
		if r.Kernel == "" || r.Glibc == "" || r.Cgroup == "" || r.PacketFilter == "" || r.Source == "" || r.Iptables == "" || r.UtilLinux == "" || r.CPULevel == 0 || r.GCC == 0 {
			t.Errorf("row %+v", r)
		}
		if Of(r.OS) != r || Name(r.Major(), "rhel") != r.OS || !slices.Contains(Names(), r.OS) {
			t.Errorf("%s is not found", r.OS)
		}
	}
	if Of("el7") != (Release{}) || Of(Usual) == (Release{}) {
		t.Error("el7 is known, or the usual release is not")
	}
}

func TestName(t *testing.T) {
	for _, tc := range []struct {
		version string
		ids     []string
		want    string
	}{
		{"9.6", []string{"rocky"}, "el9"}, {"10", []string{"centos"}, "el10"}, {"7.9", []string{"rhel"}, "el7"},
		{"8.10", []string{"other", "rhel", "fedora"}, "el8"}, {"42", []string{"fedora"}, ""}, {"", []string{"rhel"}, ""}, {"9-beta", []string{"ol"}, ""}, {"9", nil, ""},
	} {
		if got := Name(tc.version, tc.ids...); got != tc.want {
			t.Errorf("%s of %v is %q, want %q", tc.version, tc.ids, got, tc.want)
		}
	}
}
