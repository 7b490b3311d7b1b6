package bundle_test

import (
	"slices"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/nevra"
)

// TestPackagesOf: a server with GPUs gets the packages for GPUs. Another server does
// not, also without a survey.
func TestPackagesOf(t *testing.T) {
	locked := func(name string, neededBy []string, hosts ...string) bundle.Package {
		return bundle.Package{NEVRA: nevra.MustParse(name + "-3:580.82.07-1.x86_64"), NeededBy: neededBy, Hosts: hosts}
	}
	list := []string{"packages.install"}
	l := bundle.Lock{Hosts: []string{"g1", "w1"}, Packages: []bundle.Package{
		locked("kubelet", list), locked("socat", []string{"kubelet"}, "w1"),
		locked("nvidia-driver-cuda", []string{bundle.GPUList}, "g1"), locked("gcc", []string{bundle.GPUList, "dkms"}, "g1"),
		locked("dkms", []string{bundle.GPUList, "kmod"}, "g1"), locked("kmod", []string{"dkms"}, "g1"), // a cycle
		locked("make", []string{"gcc", "kubelet"}, "g1"),
	}}
	for host, want := range map[string][]string{
		"g1":      {"kubelet", "nvidia-driver-cuda", "gcc", "dkms", "kmod", "make"},
		"w1":      {"kubelet", "socat"},
		"unknown": {"kubelet", "socat", "make"},
	} {
		var got []string
		for _, p := range l.PackagesOf(host) {
			got = append(got, p.NEVRA.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s gets %v, want %v", host, got, want)
		}
	}
}
