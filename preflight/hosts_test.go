package preflight

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/preflight/facts"
	"airgap.dev/airgap/preflight/replay"
)

func recording(t testing.TB, name string) []byte {
	t.Helper()
	archive, err := replay.Recording(os.DirFS("testdata/hosts"), name)
	require.NoError(t, err)
	return archive
}

// replayed is a recorded host.
func replayed(t testing.TB, name string) host.Host {
	t.Helper()
	h, err := replay.Host(recording(t, name))
	require.NoError(t, err)
	return h
}

// gather returns the facts of a recorded host.
func gather(t testing.TB, name string) *facts.Facts {
	t.Helper()
	f, err := facts.Gather(t.Context(), replayed(t, name))
	require.NoError(t, err)
	return f
}

var update = flag.Bool("update", false, "update the golden files")

func controlPlanePorts() []facts.Port {
	return []facts.Port{{Number: 6443, Protocol: "tcp", For: "kube-apiserver"}, {Number: 2379, Protocol: "tcp", For: "etcd clients"}, {Number: 2380, Protocol: "tcp", For: "etcd peers"},
		{Number: 5000, Protocol: "tcp", For: "registry"}}
}

func workerPorts() []facts.Port {
	return []facts.Port{{Number: 10250, Protocol: "tcp", For: "kubelet"}, {Number: 10256, Protocol: "tcp", For: "kube-proxy health"}, {Number: 8472, Protocol: "udp", For: "VXLAN"}}
}

func servesBundle(w *Want) { w.Roles = append(slices.Clone(w.Roles), Registry) }

func TestRecordedHosts(t *testing.T) {
	node := Want{
		Roles: []Role{ControlPlane, Worker}, OS: "el9", KubernetesVersion: "1.36.3", NodeAddress: "10.20.0.11",
		PodSubnet: "10.244.0.0/16", ServiceSubnet: "10.96.0.0/12", Network: network("flannel"), Ports: append(controlPlanePorts(), workerPorts()...),
		StoreBytes: 2 * gigabyte, ImageBytes: 3 * gigabyte, Packages: []string{"kubelet", "kubeadm", "conntrack-tools", "iptables-nft", "socat"},
		BundleCreated: time.Unix(1_790_000_000, 0), SysctlFile: "/etc/sysctl.d/90-ours.conf", KubeletSysctls: kubeletSysctls(), Nodes: 3,
		Sysctls: []BootSysctl{
			{"net.ipv4.ip_forward", 1, false}, {"net.bridge.bridge-nf-call-ip6tables", 1, false}, {"fs.inotify.max_user_instances", 8192, true}, {"fs.inotify.max_user_watches", 524288, true},
		},
	}
	asked := facts.Asked{EtcdDisk: 2 * time.Millisecond, EtcdDiskOutcome: facts.OutcomeOf(nil), Transaction: facts.OutcomeOf(nil)}
	for _, test := range recordedHosts() {
		t.Run(test.host, func(t *testing.T) {
			want := node
			if test.change != nil {
				test.change(&want)
			}
			gathered := gather(t, test.host)
			gathered.Asked = asked
			gathered.Asked.GPUs = countNVIDIA(gathered.PCI)
			if test.asked != nil {
				test.asked(&gathered.Asked)
			}
			report, err := Run(context.Background(), gathered, want, Choice{})
			if err != nil {
				t.Fatal(err)
			}
			if got := ids(report, Fail); !slices.Equal(got, test.fails) {
				t.Errorf("failed checks: %q, want %q", got, test.fails)
			}
			if got := ids(report, Error); !slices.Equal(got, test.errors) {
				t.Errorf("checks with unknown results: %q, want %q", got, test.errors)
			}
			if report.Passed() != (len(test.fails)+len(test.errors) == 0) {
				t.Errorf("Passed() = %t, worst %s", report.Passed(), report.Worst)
			}
			golden(t, test.host+".txt", func(w io.Writer) error { return notPassed(w, report) })
		})
	}
}

// recordedHost is a host with what the checks must report about it.
type recordedHost struct {
	host   string
	change func(*Want)
	asked  func(*facts.Asked)
	fails  []string // the IDs, in the order of the report
	errors []string
}

func recordedHosts() []recordedHost {
	return []recordedHost{
		{host: "rocky9"},
		{host: "navix9"},
		{host: "rocky9-other-owners"},
		{host: "miracle8", change: func(w *Want) { w.OS = "el8" }},
		{
			host:   "rhel8-cgroup1-podman-swap",
			change: func(w *Want) { w.Packages = append(w.Packages, "containerd.io") },
			fails:  []string{"os-supported", "swap", "cgroup-version", "rpm-conflict"},
		},
		{host: "rocky9-docker", fails: []string{"runtime-present"}},
		{
			host:   "alma9-old-cluster",
			change: func(w *Want) { w.BundleCreated = time.Unix(1_800_000_000, 0) },
			fails:  []string{"time-sync", "clock-sane", "cidr-overlap", "old-cluster"},
		},
		{
			host:   "rhel10-minimal",
			change: func(w *Want) { w.OS = "el10" },
			fails:  []string{"kernel-modules", "swap", "selinux", "ip-forward", "kernel-defaults"},
		},
		{
			host: "rocky9-h100",
			change: func(w *Want) {
				w.Roles, w.Ports = []Role{Worker, GPU}, workerPorts()
			},
			asked: func(a *facts.Asked) { a.GPUs.Driver = "driver 580.82.07 (open)" },
			fails: []string{"kernel-running", "mount-noexec", "gpu-fm"},
		},
		{
			host: "rocky9-busy-network",
			asked: func(a *facts.Asked) {
				a.Transaction = facts.OutcomeOf(errors.New("nothing provides libnftnl >= 1.2 needed by iptables-nft"))
			},
			fails: []string{"disk-space", "node-ip", "default-route", "cidr-overlap", "resolv-conf", "ports-free", "packages"},
		},
		{
			host: "rocky9-unprivileged",
			errors: []string{"kernel-running", "kernel-modules", "modules-locked",
				"time-sync", "multipath", "usb-media", "usb-drives", "file-scans", "selinux", "fapolicyd", "firewalld", "auditd", "antivirus", "passwords", "limits",
				"networkmanager", "nm-cloud-setup", "sysctl-override", "nft-foreign", "segmentation-agent", "proxy-env", "resolv-conf", "old-cluster", "runtime-present", "rpm-conflict", "dnf-frozen"},
		},
		{
			host:   "oracle8-uek-ftype0",
			change: func(w *Want) { w.OS = "el8" },
			fails:  []string{"cgroup-version", "xfs-ftype"},
		},
		{
			host:   "rhel9-cis",
			change: func(w *Want) { w.Packages = append(w.Packages, "container-selinux") },
			fails:  []string{"inotify"},
		},
		{
			host: "rocky8-once-a-node",
			change: func(w *Want) {
				w.OS, w.Network, w.NodePorts = "el8", network("calico"), [][2]int{{30000, 32767}}
				w.Sysctls = append(w.Sysctls, BootSysctl{"net.ipv4.neigh.default.gc_thresh3", 2048, true})
			},
			fails: []string{"kernel-modules", "hosts-file", "unit-files", "program-path", "nm-cloud-setup", "proxy-env", "resolv-conf"},
		},
		{
			host:   "rhel9-stig",
			change: func(w *Want) { w.Packages = append(w.Packages, "container-selinux") },
			fails:  []string{"auditd", "service-drop-ins", "inotify"},
		},
		{host: "rocky9-saved-rules", fails: []string{"nft-foreign", "segmentation-agent"}},
		{
			host:   "rocky9-strict-users",
			change: func(w *Want) { w.StorageNeeds = map[string][]string{NFS: {"add-on files: PersistentVolume share"}} },
		},
		{host: "rocky8-fips", change: func(w *Want) { w.OS = "el8" }},
		{
			host:   "alma10-v2-builtin",
			change: func(w *Want) { w.OS = "el10" },
			fails:  []string{"kernel-config", "cpu-level"},
		},
		{
			host:  "rocky9-stopped-services",
			fails: []string{"kernel-modules", "hostname", "fapolicyd", "firewalld", "auditd", "service-drop-ins", "sysctl-override", "segmentation-agent", "old-cluster"},
		},
		{host: "rocky9-data-volumes", change: servesBundle, fails: []string{"boot-mounts"}},
		{host: "rocky9-links", change: servesBundle, fails: []string{"disk-space", "data-links", "parent-dirs", "selinux"}},
		{host: "rhel9-small-volumes", change: servesBundle, fails: []string{"disk-space", "mount-noexec"}},
		{
			host: "rocky9-l40s-secureboot",
			change: func(w *Want) {
				w.Roles, w.Ports, w.OtherAddresses = []Role{Worker, GPU}, workerPorts(), []string{"10.20.0.10"}
				w.Packages = append(w.Packages, "kmod-nvidia-open-dkms")
				w.MediumDevices = []string{"sdb1"}
			},
			fails: []string{"usb-media", "proxy-env", "gpu-bar", "gpu-nouveau", "secure-boot", "gpu-kernel-devel", "gpu-foreign"},
		},
	}
}

// notPassed writes a report without the passed checks, which only the summary counts.
func notPassed(w io.Writer, r Report) error {
	var text strings.Builder
	if err := r.Text(&text); err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		if !strings.HasPrefix(line, "  pass ") {
			fmt.Fprint(w, line)
		}
	}
	return nil
}

// countNVIDIA is a stub for package gpu, which preflight does not import.
func countNVIDIA(pci []host.PCIDevice) *facts.GPUs {
	if len(pci) == 0 {
		return &facts.GPUs{}
	}
	return &facts.GPUs{Free: fmt.Sprintf("%d NVIDIA devices", len(pci))}
}

func ids(r Report, status Status) []string {
	var found []string
	for _, e := range r.Results {
		if e.Status == status {
			found = append(found, e.ID)
		}
	}
	return found
}

// golden compares the output of render with a golden file.
func golden(t *testing.T, name string, render func(io.Writer) error) {
	t.Helper()
	var got bytes.Buffer
	if err := render(&got); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata/golden", name)
	if *update {
		if err := host.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%s differs (go test -update writes it again):\n%s", path, got.Bytes())
	}
}

// TestSurveyIsEnough: the survey of a host gives the same results as the host itself.
func TestSurveyIsEnough(t *testing.T) {
	for _, name := range []string{"rocky9", "rocky9-docker", "alma9-old-cluster", "rocky9-unprivileged"} {
		gathered := gather(t, name)
		first := survey(t, gathered)
		back, err := facts.ReadFacts(strings.NewReader(first))
		if err != nil {
			t.Fatal(err)
		}
		if second := survey(t, back); second != first {
			t.Errorf("%s: YAML changed the facts:\n%s\n%s", name, first, second)
		}
		before, _ := Run(context.Background(), gathered, Want{}, Choice{})
		after, _ := Run(context.Background(), back, Want{}, Choice{})
		if !reflect.DeepEqual(before, after) {
			t.Errorf("%s: the host gives\n%+v, its survey\n%+v", name, before, after)
		}
	}
}

func survey(t *testing.T, f *facts.Facts) string {
	t.Helper()
	var b strings.Builder
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
