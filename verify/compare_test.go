package verify

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"airgap.dev/airgap/verify/result"
)

func withUID(uid string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.UID = types.UID(uid) }
}

func restarted(n int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.ContainerStatuses[0].RestartCount = n }
}

// of makes the pod one of a controller: "ReplicaSet coredns-7d", with the hash after the last dash.
func of(kind, name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		yes := true
		p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: name, Controller: &yes}}
		if kind == "ReplicaSet" {
			p.Labels = map[string]string{"pod-template-hash": name[len(name)-2:]}
		}
	}
}

func withBootID(id string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Status.NodeInfo.BootID = id }
}

func version135(n *corev1.Node) { n.Status.NodeInfo.KubeletVersion = "v1.35.4" }

func version136(n *corev1.Node) { n.Status.NodeInfo.KubeletVersion = "v1.36.3" }

func TestRestarts(t *testing.T) {
	dns, proxy := of("ReplicaSet", "coredns-7d"), of("DaemonSet", "kube-proxy")
	before := []metav1.Object{
		node("w1", corev1.ConditionTrue, withBootID("1")), node("w2", corev1.ConditionTrue, withBootID("1")),
		pod("kube-system", "coredns-7d-a", "w1", dns, withUID("a"), restarted(4)),
		pod("kube-system", "kube-proxy-x", "w1", proxy, withUID("x"), restarted(2)),
		pod("kube-system", "etcd-cp1", "cp1", of("Node", "cp1"), withUID("e"), restarted(7)),
	}
	for name, tc := range map[string]struct {
		now  []metav1.Object
		want []Finding
	}{
		"nothing": {before, nil},
		"two more": {
			[]metav1.Object{pod("kube-system", "coredns-7d-a", "w1", dns, withUID("a"), restarted(6))},
			[]Finding{{Object: "Deployment kube-system/coredns, container main", Saw: "2 restarts since the baseline, in coredns-7d-a"}},
		},
		"a successor begins at zero": {
			[]metav1.Object{pod("kube-system", "coredns-9f-b", "w1", of("ReplicaSet", "coredns-9f"), withUID("b"), restarted(3))},
			[]Finding{{Object: "Deployment kube-system/coredns, container main", Saw: "3 restarts since the baseline, in coredns-9f-b"}},
		},
		"a successor that never restarted": {[]metav1.Object{pod("kube-system", "coredns-9f-b", "w1", of("ReplicaSet", "coredns-9f"), withUID("b"))}, nil},
		"a mirror pod was created again": {
			[]metav1.Object{pod("kube-system", "etcd-cp1", "cp1", of("Node", "cp1"), withUID("e2"), restarted(7))}, nil,
		},
		"a static pod was changed": {
			[]metav1.Object{pod("kube-system", "etcd-cp1", "cp1", of("Node", "cp1"), withUID("e2"), restarted(1))},
			[]Finding{{Object: "Pod kube-system/etcd-cp1, container main", Saw: "1 restart since the baseline, in etcd-cp1"}},
		},
		"the host was rebooted": {
			[]metav1.Object{node("w1", corev1.ConditionTrue, withBootID("2")), pod("kube-system", "kube-proxy-x", "w1", proxy, withUID("x"), restarted(3))}, nil,
		},
		"the host was rebooted, and more restarts": {
			[]metav1.Object{node("w1", corev1.ConditionTrue, withBootID("2")), pod("kube-system", "kube-proxy-x", "w1", proxy, withUID("x"), restarted(5))},
			[]Finding{{Object: "DaemonSet kube-system/kube-proxy, container main", Saw: "2 restarts since the baseline, in kube-proxy-x"}},
		},
		"a Job may restart": {
			[]metav1.Object{pod("bank", "nightly-x", "w1", of("Job", "nightly"), withUID("j"), restarted(5), func(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyOnFailure })}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			wantSaw(t, restarts(seen(t, before...).snapshot(), seen(t, tc.now...)), tc.want...)
		})
	}
}

func TestVanished(t *testing.T) {
	b := &result.Baseline{Snapshot: seen(t, node("w1", corev1.ConditionTrue), node("w2", corev1.ConditionFalse), daemonSet("kube-proxy", 2), deployment("coredns")).snapshot()}
	now := seen(t, node("w2", corev1.ConditionTrue), node("w3", corev1.ConditionTrue), deployment("coredns"))
	wantSaw(t, baselineExists(b).judge(now),
		Finding{Object: "Node w1", Saw: "it no longer exists"},
		Finding{Object: "DaemonSet kube-system/kube-proxy", Saw: "it no longer exists"})
}

func TestDifferences(t *testing.T) {
	image := func(ref string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Status.ContainerStatuses[0].Image = ref }
	}
	proxy := of("DaemonSet", "kube-proxy")
	before := seen(t, node("w1", corev1.ConditionTrue, version135), node("w2", corev1.ConditionTrue, version135), deployment("coredns"),
		pod("kube-system", "kube-proxy-a", "w1", proxy, withUID("a"), image("proxy:v1.35.4")))
	now := seen(t, node("w1", corev1.ConditionTrue, version136, controlPlaneNode, withBootID("2")), node("w2", corev1.ConditionTrue, version136), node("w3", corev1.ConditionTrue),
		deployment("coredns", func(d *appsv1.Deployment) { *d.Spec.Replicas = 3 }), deployment("metrics"),
		pod("kube-system", "kube-proxy-b", "w1", proxy, withUID("b"), image("proxy:v1.36.3")))
	var got []string
	for _, d := range result.Differences(before.snapshot(), now.snapshot()) {
		got = append(got, d.String()+": "+result.Abbreviate(d.Objects))
	}
	want := []string{
		"host running → started again: Node w1",
		"image proxy:v1.35.4@sha256:aaaaaaaaaaaa → proxy:v1.36.3@sha256:aaaaaaaaaaaa: DaemonSet kube-system/kube-proxy, container main",
		"kubelet v1.35.4 → v1.36.3: Node w1, Node w2",
		"new node: Node w3",
		"pods wanted 2 → 3: Deployment kube-system/coredns",
		"roles none → control-plane: Node w1",
		"new workload: Deployment kube-system/metrics",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
}

// TestMarkKnown checks pods with successors: as many of them are known as were broken before.
func TestMarkKnown(t *testing.T) {
	dns, proxy := of("ReplicaSet", "coredns-7d"), of("DaemonSet", "kube-proxy")
	now := seen(t,
		pod("kube-system", "coredns-7d-b", "w1", dns), pod("kube-system", "coredns-7d-c", "w2", dns),
		pod("kube-system", "kube-proxy-b", "w1", proxy), pod("kube-system", "kube-proxy-c", "w2", proxy))
	b := &result.Baseline{Findings: []result.KnownFinding{
		{Finding: Finding{Rule: "pods", Object: "Pod kube-system/coredns-7d-a"}, StableName: "Pod of Deployment kube-system/coredns"},
		{Finding: Finding{Rule: "pods", Object: "Pod kube-system/kube-proxy-a"}, StableName: "Pod of DaemonSet kube-system/kube-proxy on w2"},
		{Finding: Finding{Rule: "nodes-ready", Object: "Node w1"}, StableName: "Node w1"},
	}}
	findings := []Finding{
		{Object: "Pod kube-system/coredns-7d-b"}, {Object: "Pod kube-system/coredns-7d-c"},
		{Object: "Pod kube-system/kube-proxy-b"}, {Object: "Pod kube-system/kube-proxy-c"},
		{Object: "Node w1"}, // of another rule
	}
	markKnown(b, now, "pods", findings)
	var known []string
	for _, f := range findings {
		if f.Known {
			known = append(known, f.Object)
		}
	}
	if want := []string{"Pod kube-system/coredns-7d-b", "Pod kube-system/kube-proxy-c"}; !slices.Equal(known, want) {
		t.Errorf("known are %q, want %q", known, want)
	}
	pressed := &result.Baseline{
		Findings: []result.KnownFinding{
			{Finding: Finding{Rule: "nodes-pressure", Object: "Node w1", Want: "no MemoryPressure"}, StableName: "Node w1"},
			{Finding: Finding{Rule: "etcd", Object: "etcd on cp1", Want: "one of 26h0m0s at most, v3.6"}, StableName: "etcd on cp1"},
		},
	}
	for want, known := range map[string]bool{"no MemoryPressure": true, "no DiskPressure": false} {
		f := []Finding{{Object: "Node w1", Want: want}}
		if markKnown(pressed, now, "nodes-pressure", f); f[0].Known != known {
			t.Errorf("%s: known %t", want, !known)
		}
	}
	for want, known := range map[string]bool{"one of 30h0m0s at most, v3.7": true, "a leader": false} {
		f := []Finding{{Object: "etcd on cp1", Want: want}}
		if markKnown(pressed, now, "etcd", f); f[0].Known != known {
			t.Errorf("%s: known %t", want, !known)
		}
	}
	now.put(t, job("shop", "night-2", func(j *batchv1.Job) { j.OwnerReferences = controlledBy("batch/v1", "CronJob", "night") }))
	nightly := &result.Baseline{Findings: []result.KnownFinding{{Finding: Finding{Rule: "jobs", Object: "Job shop/night-1"}, StableName: "Job of CronJob shop/night"}}}
	failed := []Finding{{Object: "Job shop/night-2"}, {Object: "Job shop/other"}}
	if markKnown(nightly, now, "jobs", failed); !failed[0].Known || failed[1].Known {
		t.Errorf("known: the next Job of a CronJob %t, another Job %t", failed[0].Known, failed[1].Known)
	}
	b.Findings[0].Object = "Pod kube-system/coredns-7d-c"
	findings = []Finding{{Object: "Pod kube-system/coredns-7d-b"}, {Object: "Pod kube-system/coredns-7d-c"}}
	markKnown(b, now, "pods", findings)
	if findings[0].Known || !findings[1].Known {
		t.Errorf("another pod than the one of the baseline is known: %+v", findings)
	}
}
