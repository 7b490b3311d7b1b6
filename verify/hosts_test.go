package verify

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"airgap.dev/airgap/verify/nodereport"
)

// report returns a NodeReport like one from the API server.
func report(t *testing.T, host string, r nodereport.Report) *unstructured.Unstructured {
	t.Helper()
	if r.Heartbeat.IsZero() {
		r.Heartbeat = metav1.NewMicroTime(time.Now().Add(-time.Second))
	}
	o := nodereport.NodeReport{Report: r}
	o.SetGroupVersionKind(nodereport.Kind)
	o.Name = host
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&o)
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: content}
}

func untyped(apiVersion, kind, name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name}, "spec": spec,
	}}
}

// TestReported checks the rules about the parts of a NodeReport.
func TestReported(t *testing.T) {
	now := time.Now()
	complete := func(r nodereport.Report) nodereport.Report {
		r.Heartbeat = metav1.NewMicroTime(now.Add(-time.Second))
		return r
	}
	for _, test := range []struct {
		name string
		rule rule
		says nodereport.Report
		want []Finding
	}{
		{"healthy", reportsFresh(), nodereport.Report{}, nil},
		{"a part could not be checked", reportsFresh(), nodereport.Report{Unknown: []nodereport.Unknown{{Part: "packages", Reason: "rpm: no database"}}},
			[]Finding{{Object: "NodeReport w1", Saw: "packages could not be checked (rpm: no database)"}}},
		{"GPUs could not be checked", reportsFresh(), nodereport.Report{Unknown: []nodereport.Unknown{{Part: "gpu", Reason: "read PCI device 0000:af:00.0: file does not exist"}}},
			[]Finding{{Object: "NodeReport w1", Saw: "gpu could not be checked (read PCI device 0000:af:00.0: file does not exist)"}}},
		{"units", unitsRun(), nodereport.Report{Units: []nodereport.Unit{{Name: "kubelet.service", State: "failed"}, {Name: "containerd.service", State: "active"}}},
			[]Finding{{Object: "Node w1, kubelet.service", Saw: "failed"}}},
		{"a drop-in for all services", unitsRun(), nodereport.Report{Units: []nodereport.Unit{{Name: "kubelet.service", State: "active", Restricted: "PrivateTmp=yes: own mounts; User=kube: root"}}},
			[]Finding{{Object: "Node w1, kubelet.service", Saw: "PrivateTmp=yes: own mounts; User=kube: root"}}},
		{"an older airgap that does not report the installed version", programsRun(), nodereport.Report{Program: "1.0.0"}, nil},
		{"programs are the installed ones", programsRun(), nodereport.Report{Program: "1.1.0", Programs: &nodereport.Programs{Installed: "1.1.0", Registry: "1.1.0", Approver: "1.1.0"}}, nil},
		{"airgap.rpm was updated and nothing restarted", programsRun(), nodereport.Report{Program: "1.0.0", Programs: &nodereport.Programs{Installed: "1.1.0", Registry: "unknown", Approver: "1.0.0"}},
			[]Finding{{Object: "Node w1, airgap-node-report.service", Saw: "it runs airgap version 1.0.0"}, {Object: "Node w1, airgap-registry.service", Saw: "it runs airgap version unknown"},
				{Object: "Node w1, airgap-join-approver.service", Saw: "it runs airgap version 1.0.0"}}},
		{"drivers agree", cgroupsAgree(), nodereport.Report{Cgroup: &nodereport.Cgroup{Version: 2, Runtime: "systemd", Kubelet: "systemd", Configured: "systemd"}}, nil},
		{"drivers disagree", cgroupsAgree(), nodereport.Report{Cgroup: &nodereport.Cgroup{Version: 2, Runtime: "cgroupfs", Kubelet: "systemd"}},
			[]Finding{{Object: "Node w1", Saw: "the runtime uses cgroupfs, the kubelet uses systemd"}}},
		{"the kubelet's file disagrees", cgroupsAgree(), nodereport.Report{Cgroup: &nodereport.Cgroup{Version: 2, Runtime: "systemd", Kubelet: "systemd", Configured: "cgroupfs"}},
			[]Finding{{Object: "Node w1", Saw: "runtime and kubelet use systemd, but the kubelet's configuration file has cgroupfs"}}},
		{
			"drivers agree, and the host requires this driver",
			cgroupsAgree(),
			nodereport.Report{Cgroup: &nodereport.Cgroup{Version: 2, Runtime: "systemd", Kubelet: "systemd", Configured: "systemd", Host: "systemd"}},
			nil,
		},
		{
			"drivers agree on a host without systemd",
			cgroupsAgree(),
			nodereport.Report{Cgroup: &nodereport.Cgroup{Version: 1, Runtime: "cgroupfs", Kubelet: "cgroupfs", Configured: "cgroupfs", Host: "cgroupfs"}},
			nil,
		},
		{"drivers agree, but the host requires another driver", cgroupsAgree(), nodereport.Report{
			Cgroup: &nodereport.Cgroup{Version: 2, Runtime: "cgroupfs", Kubelet: "cgroupfs", Configured: "cgroupfs", Host: "systemd"},
		},
			[]Finding{{Object: "Node w1", Saw: "runtime and kubelet use cgroupfs, but the host requires systemd (cgroup v2)"}}},
		{"the kubelet asked the runtime", cgroupsAgree(), nodereport.Report{Cgroup: &nodereport.Cgroup{Version: 1, Runtime: "cgroupfs", Kubelet: "cgroupfs", Configured: "systemd", Host: "systemd"}},
			[]Finding{{Object: "Node w1", Saw: "runtime and kubelet use cgroupfs, but the host requires systemd (cgroup v1)"}}},
		{"pins", imagesPinned(), nodereport.Report{Images: &nodereport.Images{Unpinned: []string{"pause:3.10"}, Missing: []string{"flannel:v1"}}},
			[]Finding{{Object: "Node w1", Saw: "flannel:v1: missing"}, {Object: "Node w1", Saw: "pause:3.10: not pinned, the kubelet may delete it when the disk fills up"}}},
		{"packages", packagesUnchanged(), nodereport.Report{Packages: &nodereport.Packages{Changed: []string{"S.5....T.  /usr/bin/kubelet"}, Unlocked: []string{"kubelet"}}},
			[]Finding{{Object: "Node w1", Saw: "changed since the installation: S.5....T.  /usr/bin/kubelet"}, {Object: "Node w1", Saw: "kubelet: the next dnf update may change it"}}},
		{"no plugin", packagesUnchanged(), nodereport.Report{Packages: &nodereport.Packages{Unlocked: []string{"kubelet"}, Plugin: nodereport.PluginMissing}},
			[]Finding{{Object: "Node w1", Saw: "kubelet: dnf's plugin versionlock is not installed, and the next dnf update may change it"}}},
		{"sysctl", sysctlsStay(), nodereport.Report{Sysctls: []nodereport.Setting{{Key: "net.ipv4.ip_forward", Saw: "0", Want: "1"}}},
			[]Finding{{Object: "Node w1, net.ipv4.ip_forward", Saw: "0"}}},
		{"sysctl, from the next boot on", sysctlsStay(), nodereport.Report{Sysctls: []nodereport.Setting{{Key: "kernel.panic", Saw: "0 from the next boot on (/etc/sysctl.d/99-a.conf:2)", Want: "10"}}},
			[]Finding{{Object: "Node w1, kernel.panic", Saw: "0 from the next boot on (/etc/sysctl.d/99-a.conf:2)"}}},
		{"registry", registriesReached(), nodereport.Report{Registries: []nodereport.Registry{{Address: "10.0.0.1:5000", Error: "connection refused"}, {Address: "10.0.0.2:5000"}}},
			[]Finding{{Object: "Registry 10.0.0.1:5000 from w1", Saw: "connection refused"}}},
		{"registries on a joined host, and on a host that has not joined yet", registriesReached(), nodereport.Report{
			Registries: []nodereport.Registry{{Address: "10.0.0.1:5000", Node: "w1", Error: "no answer"}, {Address: "10.0.0.2:5000", Node: "w2", Error: "no answer"}},
		},
			[]Finding{{Object: "Registry 10.0.0.1:5000 from w1", Saw: "no answer"}}},
		{"clock", timeSynchronized(), nodereport.Report{Clock: &nodereport.Clock{}}, []Finding{{Object: "Node w1", Saw: "its clock is not synchronized with a time server"}}},
		{"certificate with months left", certificates(), nodereport.Report{Certificates: []nodereport.Certificate{{File: "/a.crt", Ends: metav1.NewTime(now.Add(90 * 24 * time.Hour))}}}, nil},
		{"certificate that expires soon", certificates(), nodereport.Report{Certificates: []nodereport.Certificate{{File: "/a.crt", Ends: metav1.NewTime(now.Add(10*24*time.Hour + time.Hour))}}},
			[]Finding{{Object: "Node w1, /a.crt", Saw: "ends in 10 days, " + now.Add(10*24*time.Hour+time.Hour).UTC().Format(time.RFC3339)}}},
		{"tunl0 that is down", noIPIP(), nodereport.Report{Links: []nodereport.Link{{Name: "tunl0", Kind: "ipip", MTU: 1480}}}, nil},
		{"tunl0 that is up", noIPIP(), nodereport.Report{Links: []nodereport.Link{{Name: "tunl0", Kind: "ipip", MTU: 1480, Up: true}}},
			[]Finding{{Object: "Node w1, link tunl0", Saw: "an IP-in-IP tunnel that is up"}}},
		{"a hostile name", noIPIP(), nodereport.Report{Links: []nodereport.Link{{Name: "tunl0;reboot", Kind: "ipip", Up: true}}}, nil},
		{"proxy's mode", proxyMode("nftables"), nodereport.Report{ProxyMode: "iptables"}, []Finding{{Object: "Node w1", Saw: "kube-proxy's mode is iptables"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := seen(t, node("w1", corev1.ConditionTrue), report(t, "w1", complete(test.says)))
			v.now = now
			wantSaw(t, test.rule.judge(v), test.want...)
		})
	}
}

// TestStaleReport: a silent host is not the same as a host with a wrong clock.
func TestStaleReport(t *testing.T) {
	now := time.Now()
	old := report(t, "w1", nodereport.Report{Heartbeat: metav1.NewMicroTime(now.Add(-time.Hour))})
	v := seen(t, node("w1", corev1.ConditionTrue), node("w2", corev1.ConditionTrue), old)
	v.now = now
	wantSaw(t, judgeReports(v),
		Finding{Object: "NodeReport w1", Saw: "no update since " + now.Add(-time.Hour).UTC().Format(time.RFC3339)},
		Finding{Object: "NodeReport w2", Saw: "it does not exist"})
	// It was received just now, from a host with a clock an hour behind.
	v.heartbeats.take(reportOf("w1"), now.Add(-time.Hour), now.Add(-time.Second), now.Add(-time.Second))
	wantSaw(t, judgeReports(v), Finding{Object: "NodeReport w2", Saw: "it does not exist"})
}

// TestDeadReportOfClockAhead: a report from before the first list is dated by the clock of its host,
// which the Lease shows. Without a renewal of the Lease, it is no evidence.
func TestDeadReportOfClockAhead(t *testing.T) {
	now := time.Now()
	for _, test := range []struct {
		name        string
		said, ahead time.Duration
		received    bool // the lease
		want        string
	}{
		{"fresh, by an unknown clock", -time.Minute, 0, false, "too soon to tell"},
		{"fresh", -time.Minute, 0, true, ""},
		{"dead for an hour, by a clock that is ahead", -time.Minute, time.Hour, true, "no new NodeReport"},
		{"fresh, by a clock that is behind", -time.Hour, -time.Hour, true, ""},
		{"from before the clock was set back", time.Hour, 0, true, "too soon to tell"},
	} {
		v := seen(t, node("w1", corev1.ConditionTrue), report(t, "w1", nodereport.Report{Heartbeat: metav1.NewMicroTime(now.Add(test.said))}))
		if v.heartbeats = newHeartbeats(); test.received {
			v.heartbeats.take(leaseOf("w1"), now.Add(test.ahead), now, now)
		}
		if got := reportsFresh().expects(v).missing; !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// TestOddOneOut: without a wanted value, the most frequent value counts.
func TestOddOneOut(t *testing.T) {
	size := func(bytes int) nodereport.Report {
		return nodereport.Report{Links: []nodereport.Link{{Name: "flannel.1", MTU: bytes, Up: true}}}
	}
	for _, test := range []struct {
		name  string
		sizes map[string]int
		want  []Finding
	}{
		{"all the same", map[string]int{"a": 1450, "b": 1450}, nil},
		{"one of three", map[string]int{"a": 1450, "b": 1450, "c": 8950}, []Finding{{Object: "Node c, link flannel.1", Saw: "8950 bytes"}}},
		{"one of two", map[string]int{"a": 1450, "b": 1400}, []Finding{{Object: "Node a, link flannel.1", Saw: "1450 bytes"}, {Object: "Node b, link flannel.1", Saw: "1400 bytes"}}},
	} {
		v := seen(t)
		for host, bytes := range test.sizes {
			v.put(t, report(t, host, size(bytes)))
		}
		t.Run(test.name, func(t *testing.T) { wantSaw(t, podNetworkMTU([]string{"cni0", "flannel.1"}).judge(v), test.want...) })
	}
	v := seen(t, report(t, "a", nodereport.Report{ProxyMode: "nftables"}), report(t, "b", nodereport.Report{ProxyMode: "iptables"}), report(t, "c", nodereport.Report{ProxyMode: "nftables"}))
	wantSaw(t, proxyMode("").judge(v), Finding{Object: "Node b", Saw: "kube-proxy's mode is iptables"})
}

func TestIPIPOfCalico(t *testing.T) {
	v := seen(t,
		untyped("crd.projectcalico.org/v1", "IPPool", "good", map[string]any{"ipipMode": "Never", "vxlanMode": "Always"}),
		untyped("crd.projectcalico.org/v1", "IPPool", "bad", map[string]any{"ipipMode": "CrossSubnet"}),
		untyped("crd.projectcalico.org/v1", "FelixConfiguration", "default", map[string]any{"ipipEnabled": true}))
	wantSaw(t, judgeIPIP(v), Finding{Object: "IPPool bad", Saw: "ipipMode: CrossSubnet"}, Finding{Object: "FelixConfiguration default", Saw: "ipipEnabled: true"})
}

func TestEtcd(t *testing.T) {
	now := time.Now()
	member := func(change func(*nodereport.Etcd)) nodereport.Report {
		e := &nodereport.Etcd{HasLeader: true, Members: []string{"cp1", "cp2", "cp3"}, Bytes: 1 << 20, Quota: 2 << 30, Snapshot: &metav1.Time{Time: now.Add(-47 * time.Hour)}}
		change(e)
		return nodereport.Report{Etcd: e}
	}
	same := func(*nodereport.Etcd) {}
	leads := func(e *nodereport.Etcd) { e.Leads = true }
	for _, test := range []struct {
		name  string
		third func(*nodereport.Etcd)
		want  []Finding
	}{
		{"healthy", same, nil},
		{"stopped", func(e *nodereport.Etcd) { *e = nodereport.Etcd{Error: "connection refused"} }, []Finding{{Object: "etcd on cp3", Saw: "connection refused"}}},
		{"not healthy, for another reason", func(e *nodereport.Etcd) { e.Error = "it is not healthy: QGET ERROR" }, []Finding{{Object: "etcd on cp3", Saw: "it is not healthy: QGET ERROR"}}},
		{"without a leader", func(e *nodereport.Etcd) { e.HasLeader, e.Error = false, "it is not healthy: RAFT NO LEADER" }, []Finding{{Object: "etcd on cp3", Saw: "it knows no leader"}}},
		{"two leaders", leads, []Finding{{Object: "etcd", Saw: "cp1 and cp3 both report that they are the leader"}}},
		{"an alarm, and nearly full", func(e *nodereport.Etcd) {
			e.Alarms, e.Error, e.Bytes = []string{"NOSPACE"}, "it is not healthy: ALARM NOSPACE", 1900<<20
		}, []Finding{{Object: "etcd on cp3", Saw: "alarm NOSPACE"}, {Object: "etcd on cp3", Saw: "its database is 2.0 GB of 2.1 GB"}}},
		{"nearly full", func(e *nodereport.Etcd) { e.Bytes = 1900 << 20 }, []Finding{{Object: "etcd on cp3", Saw: "its database is 2.0 GB of 2.1 GB"}}},
		{"without a backup", func(e *nodereport.Etcd) { e.Snapshot = nil }, []Finding{{Object: "etcd on cp3", Saw: "this host has no backup of etcd"}}},
		{"with an old backup", func(e *nodereport.Etcd) { e.Snapshot = &metav1.Time{Time: now.Add(-49 * time.Hour)} },
			[]Finding{{Object: "etcd on cp3", Saw: "the newest backup is from " + now.Add(-49*time.Hour).UTC().Format(time.RFC3339)}}},
		{"with other times", func(e *nodereport.Etcd) {
			e.Times, e.Wanted = &nodereport.EtcdTimes{Heartbeat: 500, Election: 5000}, &nodereport.EtcdTimes{Heartbeat: 100, Election: 1000}
		}, []Finding{{Object: "etcd on cp3", Saw: "heartbeat interval 500 ms, election timeout 5000 ms"}}},
		{"a member that has never started", func(e *nodereport.Etcd) { e.Unstarted = []string{"https://10.0.0.4:2380"} },
			[]Finding{{Object: "etcd", Saw: "its member at https://10.0.0.4:2380 has never started"}}},
		{"a member without a host", func(e *nodereport.Etcd) { e.Members = append(e.Members, "cp4") }, []Finding{{Object: "etcd", Saw: "it has the member cp4, but no such node exists"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := seen(t, report(t, "cp1", member(leads)), report(t, "cp2", member(same)), report(t, "cp3", member(test.third)),
				node("cp1", corev1.ConditionTrue), node("cp2", corev1.ConditionTrue), node("cp3", corev1.ConditionTrue))
			v.now = now
			wantSaw(t, judgeEtcd(v), test.want...)
		})
	}
}

// TestGPUs: each problem of the GPUs is a separate finding with a fix.
func TestGPUs(t *testing.T) {
	type list = corev1.ResourceList
	has := func(n string) list {
		return list{gpuResource: resource.MustParse(n), corev1.ResourceCPU: resource.MustParse("64")}
	}
	library := func(faults ...string) *nodereport.NVML {
		return &nodereport.NVML{Driver: "580.95.05", Cards: 8, Faults: faults}
	}
	want := &nodereport.ExpectedGPUs{Driver: "580.95.05", Count: 8}
	complete := []nodereport.Offer{{Resource: "nvidia.com/gpu", Count: 8}}
	for _, test := range []struct {
		name string
		has  list
		gpu  nodereport.GPU
		saw  []string
	}{
		{"not set up", nil, nodereport.GPU{Bus: 8}, nil},
		{"set up by the site", has("8"), nodereport.GPU{Bus: 8, Driver: "580.95.05", NVML: library()}, nil},
		{"device plugin and driver in containers", has("8"), nodereport.GPU{Bus: 8, Driver: "580.95.05", NVML: &nodereport.NVML{Error: "no library"}}, nil},
		{"set up by the site, one has fallen off the bus", has("8"), nodereport.GPU{Bus: 7, Driver: "580.95.05", NVML: library()},
			[]string{"7 on the PCI bus, 8 in NVML", "8 nvidia.com/gpu allocatable"}},
		{"library of another version", has("8"), nodereport.GPU{Bus: 8, Driver: "575.1", NVML: library()}, []string{"kernel module 575.1, library 580.95.05"}},
		{"faults", has("8"), nodereport.GPU{Bus: 8, Driver: "580.95.05", NVML: library("GPU 1: Xid 79", "GPU 2: no link")}, []string{"GPU 1: Xid 79", "GPU 2: no link"}},

		{"faults with UUIDs", has("8"), nodereport.GPU{Bus: 8, Driver: "580.95.05", NVML: &nodereport.NVML{
			Driver: "580.95.05", Cards: 8, GPUs: []nodereport.GPUDevice{{UUID: "GPU-a", Address: "0000:4e:00.0"}, {Index: 1, UUID: "GPU-b", Address: "10000:4e:00.0"}, {Index: 2, Address: "0000:bd:00.0"}},
			Faults: []string{
				"GPU 1 (10000:4e:00.0): no NVLink is active, but GPU 0 (0000:4e:00.0) has 18", "0000:4e:00.0: Xid 79 at 2025-11-23T00:00:05Z",
				"0000:bd:00.0: Xid 48 at 2025-11-23T00:00:06Z", "GPU 3: does not answer: GPU is lost",
			},
		}}, []string{
			"GPU 1 (10000:4e:00.0): no NVLink is active, but GPU 0 (0000:4e:00.0) has 18 [GPU-b]", "0000:4e:00.0: Xid 79 at 2025-11-23T00:00:05Z [GPU-a]",
			"0000:bd:00.0: Xid 48 at 2025-11-23T00:00:06Z", "GPU 3: does not answer: GPU is lost",
		}},

		{"set up", has("8"), nodereport.GPU{Bus: 8, Driver: "580.95.05", Module: true, NVML: library(), Want: want, Offers: complete}, nil},
		{"without a device plugin", nil, nodereport.GPU{Bus: 8, Driver: "580.95.05", NVML: library(), Want: want, Offers: complete}, []string{"0 nvidia.com/gpu allocatable"}},
		{"with time-slicing", has("32"), nodereport.GPU{Bus: 8, Driver: "580.95.05", NVML: library(), Want: want, Offers: []nodereport.Offer{{Resource: "nvidia.com/gpu", Count: 32}}}, nil},
		{"with MIG instances", list{gpuResource: resource.MustParse("7"), "nvidia.com/mig-1g.10gb": resource.MustParse("6")},
			nodereport.GPU{Bus: 8, Driver: "580.95.05", NVML: library(), Want: want, Offers: []nodereport.Offer{{Resource: "nvidia.com/gpu", Count: 7}, {Resource: "nvidia.com/mig-1g.10gb", Count: 7}}},
			[]string{"6 nvidia.com/mig-1g.10gb allocatable"}},
		{"one is missing", has("8"), nodereport.GPU{Bus: 7, Driver: "580.95.05", NVML: library(), Want: want, Offers: complete},
			[]string{"7 on the PCI bus, 8 when airgap set them up", "7 on the PCI bus, 8 in NVML"}},
		{"all are missing", nil, nodereport.GPU{Want: want}, []string{"0 on the PCI bus, 8 when airgap set them up"}},
		{"no count at setup", nil, nodereport.GPU{Want: &nodereport.ExpectedGPUs{}}, nil},
		{"a new kernel", has("0"), nodereport.GPU{Bus: 8, Want: want}, []string{"no NVIDIA kernel module for the running kernel 5.14.0-611"}},
		{"the module does not load", has("0"), nodereport.GPU{Bus: 8, Module: true, Want: want}, []string{"the NVIDIA kernel module is not loaded"}},
		{
			"another version than the locked one",
			has("8"),
			nodereport.GPU{Bus: 8, Driver: "595.45", NVML: &nodereport.NVML{Driver: "595.45", Cards: 8}, Want: want, Offers: complete},
			[]string{"kernel module 595.45"},
		},
		{"no library", has("8"), nodereport.GPU{Bus: 8, Driver: "580.95.05", NVML: &nodereport.NVML{Error: "no library", Faults: []string{"Xid 79"}}, Want: want}, []string{"Xid 79", "no library"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var wanted []Finding
			for _, saw := range test.saw {
				wanted = append(wanted, Finding{Object: "Node g1, GPUs", Saw: saw})
			}
			n := node("g1", corev1.ConditionTrue, func(o *corev1.Node) { o.Status.Allocatable = test.has })
			got := judgeGPUs(seen(t, n, report(t, "g1", nodereport.Report{Kernel: "5.14.0-611", GPU: &test.gpu})))
			wantSaw(t, got, wanted...)
			for _, f := range got {
				if !strings.HasPrefix(f.Fix, "on g1: ") {
					t.Errorf("%s: the fix is %q", f.Saw, f.Fix)
				}
			}
		})
	}
}

// TestRenewal: the fix depends on the certificate, because different programs renew them.
func TestRenewal(t *testing.T) {
	for file, want := range map[string]string{
		"/etc/airgap/pki/registry.crt":                    "airgap-registry-renew.timer",
		"/etc/airgap/pki/ca.crt":                          "CA certificate",
		"/var/lib/kubelet/pki/kubelet.crt":                "airgap certs renew",
		"/var/lib/kubelet/pki/kubelet-client-current.pem": "the kubelet renews this certificate",
		"/etc/kubernetes/kubelet.conf":                    "the kubelet renews this certificate",
		"/etc/kubernetes/pki/apiserver.crt":               "airgap certs renew",
		"/etc/kubernetes/pki/etcd/ca.crt":                 "CA certificate",
		"/etc/kubernetes/pki/etcd/healthcheck-client.crt": "airgap certs renew",
		"/etc/kubernetes/admin.conf":                      "airgap certs renew",
	} {
		end := metav1.NewTime(time.Now().Add(time.Hour))
		v := seen(t, report(t, "w1", nodereport.Report{Certificates: []nodereport.Certificate{{File: file, Ends: end}}}))
		v.now = time.Now()
		found := certificates().judge(v)
		if len(found) != 1 || !strings.HasPrefix(found[0].Fix, "on w1: ") || !strings.Contains(found[0].Fix, want) {
			t.Errorf("%s: %+v, want the fix %q", file, found, want)
		}
	}
}

// TestDriversFix checks which cgroup problems airgap install repairs.
func TestDriversFix(t *testing.T) {
	for name, test := range map[string]struct {
		says nodereport.Cgroup
		want string
	}{
		"the kubelet's file": {nodereport.Cgroup{Runtime: "systemd", Kubelet: "systemd", Configured: "cgroupfs", Host: "systemd"}, "airgap install or airgap join again: it repairs both"},
		"a foreign file": {
			nodereport.Cgroup{Runtime: "cgroupfs", Kubelet: "systemd", Configured: "systemd", Host: "systemd", Others: []string{"/etc/containerd/conf.d/99-nvidia.toml"}},
			"/etc/containerd/conf.d/99-nvidia.toml, which airgap did not write",
		},
		"the kubelet that runs":     {nodereport.Cgroup{Runtime: "systemd", Kubelet: "cgroupfs", Configured: "systemd", Host: "systemd"}, "systemctl restart kubelet"},
		"a report of an older kind": {nodereport.Cgroup{Runtime: "cgroupfs", Kubelet: "systemd"}, "airgap install or airgap join again: it repairs both"},
	} {
		if got := driversFix(test.says); !strings.Contains(got, test.want) {
			t.Errorf("%s: %q does not contain %q", name, got, test.want)
		}
	}
}
