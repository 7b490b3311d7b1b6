package verify

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/verify/nodereport"
	"airgap.dev/airgap/verify/result"
)

// removal is a change that removes something from a cluster.
type removal struct {
	name string
	from func(*healthyCluster)
}

func object(name string) removal {
	return removal{"no " + name, func(w *healthyCluster) { delete(w.objects, name) }}
}

// reportOfW1 returns the changes after which a part of the report of w1 is no evidence.
func reportOfW1(parts ...string) []removal {
	all := []removal{
		object("Node w1"),
		{"no report", func(w *healthyCluster) { delete(w.reports, "w1") }},
		{"stale report", func(w *healthyCluster) { w.reports["w1"].Heartbeat = metav1.NewMicroTime(time.Now().Add(-time.Hour)) }},
		{"its host's clock is not known", func(w *healthyCluster) { w.beats = nil }},
		{"report of a clock that is ahead", func(w *healthyCluster) { w.reports["w1"].Heartbeat = metav1.NewMicroTime(time.Now().Add(time.Hour)) }},
	}
	for _, p := range parts {
		all = append(all,
			removal{"no " + p, func(w *healthyCluster) { clearPart(w.reports["w1"], p) }},
			removal{p + " unknown", func(w *healthyCluster) {
				clearPart(w.reports["w1"], p)
				w.reports["w1"].Unknown = []nodereport.Unknown{{Part: p, Reason: "no answer"}}
			}})
	}
	return all
}

// clearPart clears the part with this JSON name.
func clearPart(r *nodereport.Report, name string) {
	v := reflect.ValueOf(r).Elem()
	for i := range v.NumField() {
		if tag, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ","); tag == name {
			v.Field(i).SetZero()
		}
	}
}

func unknownPart(host, name string) removal {
	return removal{name + " unknown", func(w *healthyCluster) {
		clearPart(w.reports[host], name)
		w.reports[host].Unknown = []nodereport.Unknown{{Part: name, Reason: "no answer"}}
	}}
}

// without returns, for each rule, the changes after which it cannot be ok.
func without() map[string][]removal {
	nodes := []removal{object("Node w1"), {"no nodes", func(w *healthyCluster) {
		delete(w.objects, "Node w1")
		delete(w.objects, "Node cp1")
		w.options.Nodes = nil
	}}}
	silentKubelet := removal{"a kubelet is silent", func(w *healthyCluster) {
		node := w.objects["Node w1"].(*corev1.Node)
		node.Status.Conditions[1].Status = corev1.ConditionUnknown
	}}
	ahead := func(name string) removal {
		return removal{"ahead, and no renewal received: " + name, func(w *healthyCluster) {
			old := w.objects["Lease "+name]
			w.beats, w.objects["Lease "+name] = nil, lease(old.GetNamespace(), name, time.Now().Add(time.Hour))
		}}
	}
	noHeartbeat := removal{"no renewal received", func(w *healthyCluster) { w.beats = nil }}
	return map[string][]removal{
		"nodes-ready": nodes, "nodes-schedulable": nodes, "nodes-pressure": append(nodes, silentKubelet),
		"node-leases": append(nodes, object("Lease w1"), ahead("w1")),
		"kubelet-versions": append(nodes, removal{"no version", func(w *healthyCluster) { w.objects["Node w1"].(*corev1.Node).Status.NodeInfo.KubeletVersion = "" }},
			removal{"no version of a server", func(w *healthyCluster) { w.server = "" }}),
		"control-plane": append(nodes, object("Pod kube-apiserver"), object("Pod etcd"), object("Node cp1")),
		"leaders":       {object("Lease kube-scheduler"), ahead("kube-scheduler")},
		"etcd": {
			{"no report", func(w *healthyCluster) { delete(w.reports, "cp1") }}, {"no part", func(w *healthyCluster) { w.reports["cp1"].Etcd = nil }}, unknownPart("cp1", "etcd"),
			{"stale report", func(w *healthyCluster) { w.reports["cp1"].Heartbeat = metav1.NewMicroTime(time.Now().Add(-time.Hour)) }},
			{"a second control-plane host without", func(w *healthyCluster) { w.objects["Node w1"].(*corev1.Node).Labels[controlPlaneLabel] = "" }},
		},
		"jobs":        {object("Job")},
		"terminating": {{"no pods", noPods}},
		"disk-space":  reportOfW1("disks"),
		"api-servers": {
			{"no report", func(w *healthyCluster) { delete(w.reports, "cp1") }}, {"no part", func(w *healthyCluster) { w.reports["cp1"].APIServer = nil }}, unknownPart("cp1", "apiServer"),
			{"stale report", func(w *healthyCluster) { w.reports["cp1"].Heartbeat = metav1.NewMicroTime(time.Now().Add(-time.Hour)) }},
			{"a second control-plane host without", func(w *healthyCluster) { w.objects["Node w1"].(*corev1.Node).Labels[controlPlaneLabel] = "" }},
		},
		"certificates": reportOfW1("certificates"), "time-sync": reportOfW1("clock"), "no-ipip": reportOfW1("links"), "pod-network-mtu": append(reportOfW1("links"),
			removal{"no link", func(w *healthyCluster) { w.reports["w1"].Links[0].Name = "ens3" }}, removal{"no names", func(w *healthyCluster) { w.options.PodLinks = nil }}),
		"kube-proxy-mode": reportOfW1("proxyMode"), "node-reports": append(reportOfW1(), unknownPart("w1", "packages")), "units": reportOfW1("units"),
		"programs": reportOfW1("programs"), "cgroups": reportOfW1("cgroup"), "sysctls": append(reportOfW1(), unknownPart("w1", "sysctls")),
		"host-links":   reportOfW1("hostLinks"),
		"host-network": reportOfW1("network"), "next-boot": reportOfW1("nextBoot"), "packages": reportOfW1("packages"), "pinned-images": reportOfW1("images"), "registry-reach": reportOfW1("registries"),
		"gpus": append(reportOfW1("gpu"), removal{"no GPUs at all", func(w *healthyCluster) {
			clearPart(w.reports["w1"], "gpu")
			w.objects["Node w1"].(*corev1.Node).Status.Allocatable = nil
		}}),
		"clocks":           append(nodes, noHeartbeat),
		"since":            append(nodes, noHeartbeat, silentKubelet),
		"system-workloads": {object("Deployment coredns")},
		"system-pods": {{"none", func(w *healthyCluster) {
			for name, o := range w.objects {
				if strings.HasPrefix(name, "Pod ") && o.GetNamespace() != "shop" {
					delete(w.objects, name)
				}
			}
		}}},
		"dns": {object("Service kube-dns"), object("EndpointSlice kube-dns")},
		"data-plane": append(nodes[1:], object("Pod data-plane w1"), removal{"it does not run", func(w *healthyCluster) { w.objects["Pod data-plane w1"].(*corev1.Pod).Status.Phase = corev1.PodPending }},
			removal{"it is not ready", func(w *healthyCluster) {
				unready("ContainersNotReady", "probe")(w.objects["Pod data-plane w1"].(*corev1.Pod))
			}},
			removal{"it says nothing", func(w *healthyCluster) {
				p := w.objects["Pod data-plane w1"].(*corev1.Pod)
				p.Status.Conditions = p.Status.Conditions[:2]
			}}),
		"webhooks": {object("Webhook"), object("Service kube-dns")}, "api-services": {object("APIService")}, "join-tokens": {object("ClusterRoleBinding")},
		"workloads": {object("Deployment cart")}, "pods": {object("Pod cart")}, "baseline": {object("Deployment cart"), object("Node w1")},
		"images":   {{"nothing runs", noPods}},
		"restarts": {{"nothing runs", noPods}},
	}
}

func noPods(w *healthyCluster) {
	for name := range w.objects {
		if strings.HasPrefix(name, "Pod ") {
			delete(w.objects, name)
		}
	}
}

// TestAbsenceIsNotHealth checks each rule: it is ok in a healthy cluster, and not ok if one expected
// thing is missing.
func TestAbsenceIsNotHealth(t *testing.T) {
	b := newHealthyCluster().judged(t)
	for _, id := range b.ids {
		if id != apiServer && b.rows[id].outcome() != result.OK {
			t.Errorf("%s: %s (%s) %+v in a healthy cluster", id, b.rows[id].outcome(), b.rows[id].why(), b.rows[id].findings)
		}
		if id != apiServer && len(without()[id]) == 0 {
			t.Errorf("%s: the test has no expected things for this rule", id)
		}
	}
	for id, all := range without() {
		for _, less := range all {
			w := newHealthyCluster()
			less.from(w)
			row := w.judged(t).rows[id]
			if row.outcome() == result.OK {
				t.Errorf("%s is ok: %s", id, less.name)
			}
			if row.outcome() == result.Unseen && row.fix == "" {
				t.Errorf("%s, %s: no fix for %q", id, less.name, row.why())
			}
			w.options.Only = []string{id}
			if got := w.judged(t).rows[id].outcome(); got == result.OK || got == result.LeftOut {
				t.Errorf("%s was chosen and is %s: %s", id, got, less.name)
			}
		}
	}
}

// TestClusterWithoutObjects: in a cluster without objects, no rule is ok. A chosen rule reports that it saw
// nothing.
func TestClusterWithoutObjects(t *testing.T) {
	for _, airgaps := range []bool{true, false} {
		w := newHealthyCluster()
		w.objects, w.reports, w.beats, w.server = nil, nil, nil, ""
		w.options.NodeReports, w.options.Nodes = airgaps, nil
		if !airgaps {
			w.options.Workloads = []string{}
		}
		b := w.judged(t)
		for _, id := range b.ids {
			if b.rows[id].outcome() == result.OK && id != apiServer {
				t.Errorf("%s is ok, cluster of airgap: %t", id, airgaps)
			}
			w.options.Only = append(w.options.Only, id)
		}
		b = w.judged(t)
		for _, id := range b.ids[1:] {
			if got := b.rows[id].outcome(); got != result.Unseen && got != result.Broken {
				t.Errorf("%s was chosen and is %s, cluster of airgap: %t", id, got, airgaps)
			}
		}
	}
}

// TestExpectationsOfOthers: a rule reports why it does not apply to a foreign cluster, or names the missing objects.
func TestExpectationsOfOthers(t *testing.T) {
	for _, test := range []struct {
		id   string
		from func(*healthyCluster)
		want result.Outcome
		why  string
	}{
		{"etcd", func(w *healthyCluster) { w.reports["cp1"].Etcd = nil }, result.LeftOut, "etcd is external"},
		{"etcd", func(w *healthyCluster) { delete(w.objects["Node cp1"].(*corev1.Node).Labels, controlPlaneLabel) }, result.LeftOut, "managed outside of this cluster"},
		{"gpus", func(w *healthyCluster) {
			w.reports["w1"].GPU = nil
			w.objects["Node w1"].(*corev1.Node).Status.Allocatable = nil
		}, result.LeftOut, "no host has GPUs"},
		{"gpus", func(w *healthyCluster) { w.reports["w1"].GPU = nil }, result.Unseen, "the NodeReport does not contain gpu: w1"},
		{"webhooks", object("Webhook").from, result.LeftOut, "no webhook refers to a Service"},
		{"certificates", func(w *healthyCluster) { w.reports["w1"].Heartbeat = metav1.NewMicroTime(time.Now().Add(-time.Hour)) }, result.Unseen, "no new NodeReport for more than 3m0s: w1"},
		{"units", func(w *healthyCluster) { w.options.Nodes = append(w.options.Nodes, "w9") }, result.Unseen, "not joined: w9"},
	} {
		w := newHealthyCluster()
		test.from(w)
		if row := w.judged(t).rows[test.id]; row.outcome() != test.want || !strings.Contains(row.why(), test.why) {
			t.Errorf("%s: %s (%s), want %s (%s)", test.id, row.outcome(), row.why(), test.want, test.why)
		}
	}
}

// TestStaleReportsAreIgnored: a stale report is no evidence against the fresh reports.
func TestStaleReportsAreIgnored(t *testing.T) {
	w := newHealthyCluster()
	for _, host := range []string{"w2", "w3"} {
		w.host(host)
		w.reports[host].Heartbeat = metav1.NewMicroTime(time.Now().Add(-time.Hour))
		w.reports[host].Links[0].MTU, w.reports[host].ProxyMode = 8950, "iptables"
		w.reports[host].Etcd = &nodereport.Etcd{HasLeader: true, Leads: true, Members: []string{"gone", host}, Quota: 1, Snapshot: &metav1.Time{Time: time.Now()}}
	}
	b := w.judged(t)
	for _, id := range []string{"etcd", "pod-network-mtu", "kube-proxy-mode"} {
		if row := b.rows[id]; len(row.findings) > 0 {
			t.Errorf("%s: found %+v from stale reports", id, row.findings)
		}
	}
	if got := b.rows["pod-network-mtu"].outcome(); got != result.Unseen {
		t.Errorf("pod-network-mtu: %s although two hosts do not report", got)
	}
}

// TestUnseenIsReported: a run that watches reports when a rule can no longer be evaluated, and when it
// can be evaluated again.
func TestUnseenIsReported(t *testing.T) {
	w := newHealthyCluster()
	e := w.engine(t)
	now := time.Now()
	events := func(later time.Duration) []string {
		var all []string
		for _, event := range e.changes.events(now.Add(later), e.board.healthy()) {
			if event.Rule == "" || event.Rule == "units" {
				all = append(all, event.Event+" "+event.Object)
			}
		}
		return all
	}
	w.judge(t, e)
	if got := events(0); !slices.Equal(got, []string{"healthy "}) {
		t.Fatalf("events of a healthy cluster: %q", got)
	}
	units := w.reports["w1"].Units
	clearPart(w.reports["w1"], "units")
	w.judge(t, e)
	if got := events(2 * time.Second); !slices.Equal(got, []string{"unseen Rule units"}) {
		t.Errorf("events without the expected part: %q", got)
	}
	w.reports["w1"].Units = units
	w.judge(t, e)
	if got := events(4 * time.Second); !slices.Equal(got, []string{"fixed Rule units", "healthy "}) {
		t.Errorf("events with the part again: %q", got)
	}
}

// TestMissingAsInBaseline: an object that was missing in the baseline does not decide. An object that is
// missing since then decides.
func TestMissingAsInBaseline(t *testing.T) {
	w := newHealthyCluster()
	delete(w.reports, "w1")
	e := w.engine(t)
	w.judge(t, e)
	w.options.Baseline.Unseen = e.last(false, time.Now()).Missed
	if row := w.judged(t).rows["units"]; row.outcome() != result.LeftOut || row.why() != "unseen, as in the baseline: no NodeReport: w1" {
		t.Errorf("the same: %s (%s)", row.outcome(), row.why())
	}
	delete(w.reports, "cp1")
	if row := w.judged(t).rows["units"]; row.outcome() != result.Unseen || row.why() != "no NodeReport: cp1, w1" {
		t.Errorf("more: %s (%s)", row.outcome(), row.why())
	}
}
