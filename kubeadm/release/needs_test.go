package release

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host/hosttest"
)

// The bundled kubeadm has the last word on the images it will ask for.
func TestImagesAreKubeadms(t *testing.T) {
	for _, program := range hosttest.LabKubeadms(t) {
		version := strings.TrimSpace(hosttest.Output(t, program, "version", "-o", "short"))
		want := strings.Fields(hosttest.Output(t, program, "config", "images", "list", "--kubernetes-version", version))
		slices.Sort(want)
		got, err := Images(version)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
	}
}

func TestGatesAreKubeadms(t *testing.T) {
	gate := regexp.MustCompile(`(\w+)=true\|false \(`)
	for _, program := range hosttest.LabKubeadms(t) {
		version := strings.TrimSpace(hosttest.Output(t, program, "version", "-o", "short"))
		var want []string
		for _, m := range gate.FindAllStringSubmatch(hosttest.Output(t, program, "init", "--help"), -1) {
			want = append(want, m[1])
		}
		own, err := Of(version)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(own.Gates, want) {
			t.Errorf("%s: got %v, want %v", version, own.Gates, want)
		}
	}
}

func TestImages(t *testing.T) {
	for version, want := range map[string][]string{
		"1.35.4": {"registry.k8s.io/etcd:3.6.6-0", "registry.k8s.io/pause:3.10.1", "registry.k8s.io/kube-proxy:v1.35.4"},
		"1.37.0": {"registry.k8s.io/etcd:3.7.0-0", "registry.k8s.io/coredns/coredns:v1.14.6", "registry.k8s.io/kube-scheduler:v1.37.0"},
	} {
		got, err := Images(version)
		if err != nil {
			t.Fatal(err)
		}
		for _, image := range want {
			if !slices.Contains(got, image) {
				t.Errorf("%s lacks %s: %v", version, image, got)
			}
		}
	}
	for _, version := range []string{"", "1.34.0", "2.36.0", "1.36"} {
		if got, err := Images(version); err == nil {
			t.Errorf("%q gives %v, want an error", version, got)
		}
	}
}

func TestWhatABundleNeeds(t *testing.T) {
	repository, err := PackageRepository("v1.36.3")
	if err != nil {
		t.Fatal(err)
	}
	if repository.BaseURL != "https://pkgs.k8s.io/core:/stable:/v1.36/rpm/" || !strings.HasPrefix(repository.GPGKey, repository.BaseURL) {
		t.Errorf("got %+v", repository)
	}
	if got := Packages("v1.36.3", "el9"); !slices.Contains(got, "kubelet-1.36.3") || !slices.Contains(got, "iptables-nft") {
		t.Errorf("got %v", got)
	}
	if got := Packages("1.36.3", "el8"); !slices.Contains(got, "iptables") {
		t.Errorf("EL8 has no package iptables-nft, got %v", got)
	}
}
