package exampletest

import (
	"bytes"
	"maps"
	"strings"
	"testing"
)

// mistakes checks that airgap bundle finds errors in an example.
func mistakes(t *testing.T, program string, u *upstream) {
	for name, tc := range map[string]struct {
		example string
		edits   []string
		code    int
		want    []string // in the error
	}{
		"an unknown field": {"ha-rocky9", []string{"podSubnet:", "podSubnett:"}, 2,
			[]string{"kubernetes.podSubnett: unknown field"}},
		"an unsupported version": {"ha-rocky9", []string{`"1.36.3"`, `"1.30.3"`}, 2,
			[]string{"version 1.30 is not supported"}},
		"a patch that does not exist": {"ha-rocky9", []string{`"1.36.3"`, `"1.36.9"`}, 1,
			[]string{"registry.k8s.io/kube-proxy:v1.36.9", "does not exist", "kubelet-1.36.9"}},
		"a missing package": {"ha-rocky9", []string{"nfs-utils", "nfs-utilz"}, 1,
			[]string{"nfs-utilz"}},
		"a missing image": {"gpu-box", []string{"openai:v0.11.0", "openai:v0.11.99"}, 1,
			[]string{"docker.io/vllm/vllm-openai:v0.11.99", "does not exist"}},
		"a missing chart": {"ha-rocky9", []string{"37.1.1", "37.1.99"}, 1,
			[]string{"add-on traefik", "it has 37.1.1"}},
		"a driver that does not exist": {"gpu-box", []string{"\npackages:\n", "\ngpu: {branch: 620, flavour: proprietary}\npackages:\n"}, 2,
			[]string{"gpu1: no driver 620 (proprietary) supports all GPUs: NVIDIA Hopper"}},
		"no compiler for the driver": {"gpu-box", []string{"9.6/AppStream", "9.6/BaseOS"}, 1,
			[]string{"gcc", "kernel-devel-5.14.0-570.12.1.el9_6"}},
		"a runtime that replaces the one of podman": {"rhel8-podman", []string{"source: archive", "source: package"}, 1,
			[]string{"containerd.io", "runc-1:1.1.12", "set runtime.source: archive"}},
		"cgroup v1 without permission": {"rhel8-podman", []string{"failCgroupV1: false", "failSwapOn: true"}, 2,
			[]string{"set1, set2, set3: cgroup-version: v1, want v2"}},
		"a CDN without a subscription": {"rhel8-podman",
			[]string{"login: {clientCert: entitlement.pem, clientKey: entitlement-key.pem}", "# no login"}, 1,
			[]string{"read repository ", "certificate required; set login in packages.repositories"}},
		"modules of another kernel": {"rhel10-cilium", []string{"55.9.1.el10_0\n", "55.27.1.el10_0\n"}, 1,
			[]string{"kernel-uname-r = 6.12.0-55.27.1.el10_0.x86_64"}},
		"a mirror without a login": {company, []string{", login: *artifactory", ""}, 1,
			[]string{"https://artifactory.corp.example/artifactory/", "401 Unauthorized; set login in packages.repositories or in sources.rewrite"}},
		"a proxy that intercepts TLS": {company, []string{"  ca: corporate-ca.pem\n", ""}, 1,
			[]string{"certificate signed by unknown authority"}},
		"a second driver": {"gpu-box", []string{"\nimages:\n", "\naddons: [{name: gpu-operator, manifests: [gpu-policy.yaml]}]\nimages:\n"}, 2,
			[]string{"add-on gpu-operator: ClusterPolicy cluster-policy: driver.enabled is true", "to false: driver.enabled, toolkit.enabled, devicePlugin.enabled"}},
		"another version of the Calico operator": {"gpu-box",
			[]string{"\nimages:\n", "\nnetwork: {plugin: calico, calico: {form: operator, source: .}} # calico.yaml\nimages:\n"}, 1,
			[]string{"network calico: calico.yaml has Calico v3.31.7, expected v3.32.4", "set network.calico.version to v3.31.7"}},
		"a password in the file": {company, []string{"passwordFile: artifactory.password", "password: " + password}, 2,
			[]string{"inline credential"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := plan(t, program, u, visit(t, u, tc.example, cases()[tc.example], tc.edits...))
			if o.code != tc.code {
				t.Errorf("exit code %d, want %d", o.code, tc.code)
			}
			for _, want := range tc.want {
				if !strings.Contains(o.wrong, want) {
					t.Errorf("%q is not in\n%s", want, o.wrong)
				}
			}
		})
	}
}

// altered serves metadata that differ from the signed metadata of the vendor.
func altered(t *testing.T, program string, u *upstream) {
	const repomd = "dl.rockylinux.org/pub/rocky/9/BaseOS/x86_64/os/repodata/repomd.xml"
	before := maps.Clone(u.files)
	t.Cleanup(func() { u.files = before })
	u.files = maps.Clone(before)
	u.files[repomd] = bytes.Replace(before[repomd], []byte("UTF-8"), []byte("utf-8"), 1)
	o := plan(t, program, u, visit(t, u, "ha-rocky9", cases()["ha-rocky9"]))
	if o.code != 1 || !strings.Contains(o.wrong, "read repository baseos") || !strings.Contains(o.wrong, "its signature is not from a configured key") {
		t.Errorf("exit code %d:\n%s", o.code, o.wrong)
	}
}
