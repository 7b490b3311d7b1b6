package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/config/configtest"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/preflight/facts"
)

// gpuHost returns a host with one GPU, if device is set, and the given driver version text.
func gpuHost(device, driver string) []*facts.Facts {
	f := surveyOf("gpu1", "rocky", "9.6", "5.14.0-570.el9_6.x86_64", "v2")
	if device != "" {
		f.PCI = []host.PCIDevice{{Address: "0000:17:00.0", Vendor: "10de", Device: device, Class: "030200"}}
	}
	f.Driver = driver
	return []*facts.Facts{f}
}

const k8s = configtest.Kubernetes

func surveyOf(host, id, version, kernel, cgroup string) *facts.Facts {
	return &facts.Facts{Host: host, OS: facts.OS{ID: id, Version: version, Name: id + " " + version}, Kernel: facts.Kernel{Release: kernel}, Cgroup: facts.Cgroup{Mode: cgroup}}
}

// compatibility is a test case: a configuration, hosts, and the expected messages.
type compatibility struct {
	config   *config.Cluster
	hosts    []*facts.Facts
	refused  []string
	warnings []string
}

func (c compatibility) test(t *testing.T) {
	progress := &messages{Progress: ui.Discard()}
	_, err := checkCompatibility(c.config, c.hosts, time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC), progress)
	if (err != nil) != (len(c.refused) > 0) {
		t.Fatalf("got %v, want %q", err, c.refused)
	}
	for _, want := range c.refused {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in\n%v", want, err)
		}
	}
	if n := len(c.refused); n > 0 {
		if !advice.IsUsage(err) || strings.Count(err.Error(), "\n") != n {
			t.Errorf("want exit code 2 and %d problems, got\n%v", n, err)
		}
	}
	for _, want := range c.warnings {
		if !slices.ContainsFunc(progress.all, func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("%q is not in the warnings %q", want, progress.all)
		}
	}
	if len(c.warnings) != len(progress.all) {
		t.Errorf("warnings are %q, want %q", progress.all, c.warnings)
	}
}

// TestCompatibility has, for each rule, cases that are refused, cases with a warning, and
// cases without a message.
func TestCompatibility(t *testing.T) {
	rocky9 := surveyOf("db1", "rocky", "9.6", "5.14.0-570.el9_6.x86_64", "v2")
	rhel8v2 := surveyOf("db2", "rhel", "8.10", "4.18.0-553.el8_10.x86_64", "v2")
	rhel8v1 := surveyOf("db3", "rhel", "8.10", "4.18.0-553.el8_10.x86_64", "v1")
	unknown := surveyOf("db4", "rocky", "9.6", "5.14.0-570.el9_6.x86_64", "")
	unknown.Unknown = []facts.Unknown{{Fact: "cgroup", Reason: "no access"}}
	const nftables = "kubernetes: {version: 1.36.3, overrides: {kubeProxy: {mode: nftables}}}\n"
	for name, c := range map[string]compatibility{
		"compatible":            {configtest.On(t, "el9", k8s), []*facts.Facts{rocky9}, nil, nil},
		"no survey":             {configtest.On(t, "el9", k8s), nil, nil, nil},
		"EL 10's nftables mode": {configtest.On(t, "el10", k8s), nil, nil, nil},
		"another system":        {configtest.On(t, "el9", k8s), []*facts.Facts{rocky9, rhel8v2}, []string{"db2: os-supported: rhel 8.10 (rhel 8.10), want el9"}, []string{"db2: kernel-version: 4.18"}},
		"an old kernel is only a warning": {
			configtest.On(t, "el8", k8s),
			[]*facts.Facts{rhel8v2},
			nil,
			[]string{"db2: kernel-version: 4.18.0-553.el8_10.x86_64, want 4.19 or newer for Kubernetes without a warning (kubernetes#131919"},
		},
		"nftables mode on EL 8": {configtest.On(t, "el8", nftables), []*facts.Facts{rhel8v2}, []string{"want 5.13 or newer for kube-proxy's nftables mode (Kubernetes: virtual IPs"}, nil},
		"ipvs": {
			configtest.On(t, "el9", "kubernetes: {version: 1.36.3, overrides: {kubeProxy: {mode: ipvs}}}\n"),
			[]*facts.Facts{rocky9},
			nil,
			[]string{"airgap.yaml: kube-proxy's mode ipvs, want iptables or nftables"},
		},
		"an invalid mode": {
			configtest.On(t, "el9", "kubernetes: {version: 1.36.3, overrides: {kubeProxy: {mode: userspace}}}\n"),
			[]*facts.Facts{rocky9},
			[]string{"airgap.yaml: kube-proxy's mode userspace, want iptables"},
			nil,
		},
		"nftables mode on EL 9": {configtest.On(t, "el9", nftables), []*facts.Facts{rocky9}, nil, nil},
		"nftables mode on EL 8, no survey": {configtest.On(t, "el8", nftables), nil, []string{"el8 (assumed: no --facts): kernel-version: 4.18, want 5.13"},
			[]string{"el8 (assumed: no --facts): cgroup-version: v1, want v2"}},
		"cilium on EL 8.8": {configtest.On(t, "el8", k8s+"network: {plugin: cilium}\n"), []*facts.Facts{surveyOf("db5", "rhel", "8.8", "4.18.0-477.el8_8.x86_64", "v2")},
			[]string{"db5: kernel-version: 4.18.0-477.el8_8.x86_64, want 5.10 or newer for Cilium (Cilium: system requirements"}, nil},
		"cilium on EL 8.10": {configtest.On(t, "el8", k8s+"network: {plugin: cilium}\n"), []*facts.Facts{rhel8v2}, nil, []string{"db2: kernel-version: 4.18"}},
		"cgroup v1":         {configtest.On(t, "el8", k8s), []*facts.Facts{rhel8v1}, []string{"db3: cgroup-version: v1, want v2 (kubernetes#134744, KEP-5573); run grubby"}, []string{"4.19"}},
		"cgroup v1, allowed": {configtest.On(t, "el8", "kubernetes: {version: 1.36.3, overrides: {kubelet: {failCgroupV1: false}}}\n"),
			[]*facts.Facts{rhel8v1}, nil,
			[]string{"db3: cgroup-version: v1", "4.19"}},
		"cgroup v1, lower severity": {configtest.On(t, "el8", k8s+"preflight: {checks: {cgroup-version: {severity: warn}}}\n"), []*facts.Facts{rhel8v1}, nil,
			[]string{"db3: cgroup-version: v1", "4.19"}},
		"an old runc": {
			configtest.On(t, "el9", k8s+"runtime: {runcVersion: 1.3.0}\n"),
			nil,
			nil,
			[]string{"airgap.yaml: runc 1.3.0 with containerd 2.3.7, want runc 1.4.3 or later (containerd: RELEASES.md"},
		},
		"a survey with unknown facts": {configtest.On(t, "el9", k8s), []*facts.Facts{unknown}, nil,
			[]string{"db4: kernel-version: unknown: no access (", "db4: cgroup-version: unknown: no access (kubernetes#134744, KEP-5573)"}},
		"the same on several hosts": {configtest.On(t, "el8", "kubernetes: {version: 1.36.3, overrides: {kubelet: {failCgroupV1: false}}}\n"),
			[]*facts.Facts{rhel8v1, surveyOf("db6", "rhel", "8.10", "4.18.0-553.el8_10.x86_64", "v1"), rhel8v2}, nil,
			[]string{"db3, db6: cgroup-version: v1, want v2 (kubernetes#134744, KEP-5573); run grubby --update-kernel=ALL " +
				"--args=systemd.unified_cgroup_hierarchy=1, then reboot, before Kubernetes drops cgroup v1",
				"db3, db6, db2: kernel-version: 4.18"}},
		"several in one error": {configtest.On(t, "el8", nftables), []*facts.Facts{rhel8v1, rocky9},
			[]string{"db3: kernel-version: 4.18.0-553.el8_10.x86_64, want 5.13", "db3: cgroup-version: v1, want v2", "db1: os-supported: rocky 9.6 (rocky 9.6), want el8"}, nil},
	} {
		t.Run(name, c.test)
	}
}

func TestCompatibilityOfGPUs(t *testing.T) {
	rocky9 := surveyOf("db1", "rocky", "9.6", "5.14.0-570.el9_6.x86_64", "v2")
	withGPU := configtest.On(t, "el9", k8s)
	withGPU.Nodes = append(withGPU.Nodes, config.Node{Name: "gpu1", Address: "192.0.2.12", Roles: []config.Role{config.Worker, config.GPU}})
	configured := func(section string) *config.Cluster {
		c := configtest.On(t, "el9", k8s+section)
		c.Nodes = withGPU.Nodes
		return c
	}
	locked := gpuHost("2330", "")
	locked[0].SecureBoot.On = true
	newer := gpuHost("3f00", "")
	newer[0].PCI = append(newer[0].PCI, newer[0].PCI[0],
		host.PCIDevice{Vendor: "10de", Device: "3f80", Class: "030200", Driver: "vfio-pci"}, host.PCIDevice{Vendor: "10de", Device: "22a3", Class: "068000"})
	installer := gpuHost("2330", "")
	installer[0].Runfile = true
	vouched := gpuHost("2330", "")
	vouched[0].Units = []facts.Unit{{Name: "fapolicyd.service", State: "active"}}
	unread := func(fact, device string) []*facts.Facts {
		hosts := gpuHost(device, "")
		hosts[0].Unknown = []facts.Unknown{{Fact: fact, Reason: "no access"}}
		return hosts
	}
	const closed595 = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  595.45.04  Release Build"
	runfile := "gpu: {source: runfile, installer: {url: \"https://example.com/NVIDIA-Linux-x86_64-580.82.07.run\", sha256: " + strings.Repeat("a", 64) + "}}\n"
	for name, c := range map[string]compatibility{
		"V100 and its last driver":  {withGPU, gpuHost("1db4", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.82.07  Release Build"), nil, nil},
		"V100 without a driver yet": {withGPU, gpuHost("1db4", ""), nil, nil},
		"V100 and a later driver": {
			withGPU,
			gpuHost("1db4", closed595),
			[]string{"gpu1: gpu-driver: driver 595.45.04 (proprietary) with NVIDIA Volta 10de:1db4, want proprietary 580 and earlier (NVIDIA: Unix graphics"},
			nil,
		},
		"Blackwell, proprietary": {withGPU, gpuHost("2901", closed595), []string{"want open 570 and later"}, nil},
		"an unknown driver":      {withGPU, gpuHost("2901", "NVRM version: mine"), nil, []string{"gpu1: gpu-driver: read the driver's version"}},
		"role gpu, no GPU":       {withGPU, gpuHost("", ""), []string{"gpu1: gpu-present: none in the PCI tree, want an NVIDIA GPU"}, nil},
		"V100 with 595, refused": {
			configured("gpu: {branch: 595}\n"),
			gpuHost("1db4", ""),
			[]string{"gpu1: no driver 595 supports all GPUs: NVIDIA Volta 10de:1db4 requires proprietary 580 and earlier (NVIDIA: Unix"},
			nil,
		},
		"Blackwell, refused": {
			configured("gpu: {flavour: proprietary}\n"),
			gpuHost("2901", ""),
			[]string{"gpu1: no driver (proprietary) supports all GPUs: NVIDIA Blackwell 10de:2901 requires open 570 and later"},
			nil,
		},
		"GPUs without a survey": {configured(""), []*facts.Facts{rocky9}, []string{"gpu1: it has the role gpu, but its GPUs and its kernel are not known, want its facts; run airgap survey"}, nil},
		"an unreadable PCI tree": {configured(""), unread("pci", ""), []string{
			"gpu1: it has the role gpu, but the survey could not read its PCI tree: no access, want a survey with this fact, which determines the driver; " +
				"fix the cause, and run airgap survey as root on this host again",
		},
			[]string{"pass --skip gpu-present", "pass --skip gpu-driver", "pass --skip gpu-foreign"}},
		"unreadable packages": {
			configured(""),
			unread("packages", "2330"),
			[]string{"gpu1: it has the role gpu, but the survey could not read its installed packages: no access"},
			[]string{"gpu1: gpu-foreign: unknown: no access (NVIDIA driver"},
		},
		"unread, with the user's own driver": {configured("gpu: {source: host}\n"), unread("packages", "2330"), nil, []string{"gpu1: gpu-foreign: unknown: no access (NVIDIA driver"}},
		"the user's own driver":              {configured("gpu: {source: host}\n"), gpuHost("2330", ""), nil, nil},
		"a branch without fixes": {configured("gpu: {branch: 535}\n"), gpuHost("2330", ""), nil,
			[]string{"gpu1: driver 535 (open) has received no fixes since 2026-06, want a branch with fixes"}},
		"GPUs newer than the table": {
			configured(""),
			newer,
			nil,
			[]string{"warning: gpu1: NVIDIA 10de:3f00 is not in the GPU table; from its device ID airgap assumes Blackwell and selects driver 580 (open); " +
				"if NVIDIA requires another branch for it, set gpu.branch"},
		},
		"the same, with a branch":              {configured("gpu: {branch: 595}\n"), newer, nil, nil},
		"the same, with NVIDIA's installer":    {configured(runfile), newer, nil, nil},
		"the same, with the user's own driver": {configured("gpu: {source: host}\n"), newer, nil, nil},
		"a GPU between two generations": {
			configured(""),
			gpuHost("1500", ""),
			nil,
			[]string{"gpu1: NVIDIA 10de:1500 is not in the GPU table; from its device ID airgap assumes Maxwell and selects driver 580 (proprietary)"},
		},
		"fapolicyd, NVIDIA's installer": {
			configured(runfile),
			vouched,
			[]string{"gpu1: fapolicyd: active, and the driver comes from NVIDIA's installer, want a driver from RPMs, which fapolicyd trusts (k3s#9008, fapolicyd#310); set gpu.source to dkms"},
			nil,
		},
		"fapolicyd, packages": {configured(""), vouched, nil, nil},
		"Secure Boot without a key": {configured(""), locked,
			[]string{"gpu1: secure-boot: on; no enrolled key for modules that are built on this host, want a driver with a signature that the kernel trusts"}, nil},
		"Secure Boot, precompiled":       {configured("gpu: {source: precompiled}\n"), locked, nil, []string{"gpu1: secure-boot: on; no enrolled key for modules"}},
		"driver from NVIDIA's installer": {configured(""), installer, []string{"gpu1: gpu-foreign: a driver is installed by NVIDIA's installer, and the bundle has RPMs, want one of them"}, nil},
	} {
		t.Run(name, c.test)
	}
}

// messages is a progress that keeps the messages.
type messages struct {
	ui.Progress
	all []string
}

func (m *messages) Say(format string, args ...any) {
	m.all = append(m.all, fmt.Sprintf(format, args...))
}
