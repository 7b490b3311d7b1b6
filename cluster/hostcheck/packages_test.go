package hostcheck

import (
	"os"
	"slices"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/nodesteps"
	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/internal/nevra"
)

// TestPackagesByName: checks, transaction and version locks use the same packages. This is also true for a server
// with a host name other than its node name: a survey has the host name, airgap.yaml the node name.
func TestPackagesByName(t *testing.T) {
	here, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name     string
		surveyed []string
		want     []string
	}{
		{"under the host's name", []string{here, "other"}, []string{"kubelet", "kubectl"}},
		{"under the node's name", []string{"w1", here, "other"}, []string{"kubelet", "kubeadm"}},
		{"not at all", []string{"other"}, []string{"kubelet", "kubectl", "kubeadm", "cri-tools"}},
	} {
		s := sitetest.SettingsSite(t, "")
		s.Index.Lock.Hosts = test.surveyed
		s.Index.Lock.Packages = []bundle.Package{
			{NEVRA: nevra.MustParse("kubelet-0:1.36.3-1.x86_64")}, {NEVRA: nevra.MustParse("kubectl-0:1.36.3-1.x86_64"), Hosts: []string{here}},
			{NEVRA: nevra.MustParse("kubeadm-0:1.36.3-1.x86_64"), Hosts: []string{"w1"}}, {NEVRA: nevra.MustParse("cri-tools-0:1.36.0-1.x86_64"), Hosts: []string{"other"}},
		}
		w, err := Want(s, true)
		if err != nil || !slices.Equal(w.Packages, test.want) {
			t.Errorf("surveyed %s: preflight checks %v, %v, want %v", test.name, w.Packages, err, test.want)
		}
		l, err := nodesteps.VersionLock(s)
		var got []string
		for _, p := range l.Packages {
			got = append(got, p.Name)
		}
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("surveyed %s: locked are %v, %v, want %v", test.name, got, err, test.want)
		}
		d, err := nodesteps.Locked(s, t.TempDir())
		got = nil
		for _, p := range d.Packages {
			got = append(got, p.Name)
			if d.IfAbsent[p] != (test.name == "not at all") {
				t.Errorf("surveyed %s: %s only if absent: %t", test.name, p, d.IfAbsent[p])
			}
		}
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("surveyed %s: dnf installs %v, %v, want %v", test.name, got, err, test.want)
		}
	}
}
