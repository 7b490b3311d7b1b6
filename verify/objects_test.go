package verify

import (
	"slices"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// kubeletLease returns the Lease of the kubelet of w1 with the default duration of 40 seconds.
func kubeletLease(renewed time.Time) *coordinationv1.Lease {
	l := lease(corev1.NamespaceNodeLease, "w1", renewed)
	seconds := int32(40)
	l.Spec.LeaseDurationSeconds = &seconds
	return l
}

func TestNodeLeases(t *testing.T) {
	now := time.Now()
	for _, test := range []struct {
		name     string
		objects  []metav1.Object
		received time.Duration // time since the last heartbeat; 0: none
		saw      string
	}{
		{"renewed", []metav1.Object{kubeletLease(now.Add(-9 * time.Second))}, 0, ""},
		{"two renewals missed", []metav1.Object{kubeletLease(now.Add(-21 * time.Second))}, 0, "its kubelet has not renewed its lease since " + now.Add(-21*time.Second).UTC().Format(time.RFC3339)},
		{"clock behind, received just now", []metav1.Object{kubeletLease(now.Add(-time.Hour))}, 5 * time.Second, ""},
		{"clock ahead, silent", []metav1.Object{kubeletLease(now.Add(time.Hour))}, 30 * time.Second, "its kubelet has not renewed its lease since " + now.Add(-30*time.Second).UTC().Format(time.RFC3339)},
		{"none", nil, 0, "its kubelet has no lease"},
		{"dead with a clock that was ahead", []metav1.Object{kubeletLease(now.Add(time.Hour))}, 0, "its kubelet has not renewed its lease since " + now.Add(-time.Minute).UTC().Format(time.RFC3339)},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := seen(t, append(test.objects, node("w1", corev1.ConditionTrue))...)
			v.now, v.heartbeats.began = now, now.Add(-time.Minute)
			if test.received > 0 {
				v.heartbeats.take(leaseOf("w1"), now, now.Add(-test.received), now.Add(-test.received))
			}
			var want []Finding
			if test.saw != "" {
				want = []Finding{{Object: "Node w1", Saw: test.saw}}
			}
			wantSaw(t, judgeNodeLeases(v), want...)
		})
	}
}

func TestLeaders(t *testing.T) {
	now := time.Now()
	work := func(component string, renewed time.Time) *coordinationv1.Lease {
		l := lease(metav1.NamespaceSystem, component, renewed)
		seconds := int32(15)
		l.Spec.LeaseDurationSeconds = &seconds
		return l
	}
	nobody := work("kube-scheduler", now)
	nobody.Spec.HolderIdentity = nil
	v := seen(t, work("kube-controller-manager", now.Add(-time.Minute)), nobody)
	v.now = now
	wantSaw(t, judgeLeaders(v),
		Finding{Object: "Lease kube-system/kube-controller-manager", Saw: "the leader kube-controller-manager has not renewed its lease since " + now.Add(-time.Minute).UTC().Format(time.RFC3339)},
		Finding{Object: "Lease kube-system/kube-scheduler", Saw: "it has no leader"})
	v = seen(t, work("kube-controller-manager", now.Add(-20*time.Second)), work("kube-scheduler", now))
	v.now = now
	wantSaw(t, judgeLeaders(v))
}

// TestClocks: a delayed heartbeat does not mean a wrong clock.
func TestClocks(t *testing.T) {
	now := time.Now()
	for _, test := range []struct {
		name  string
		beats []time.Duration // by how much the host's clock seemed ahead
		saw   string
	}{
		{"right", []time.Duration{-20 * time.Millisecond, -10 * time.Millisecond}, ""},
		{"one was slow", []time.Duration{-30 * time.Second, -10 * time.Millisecond, -8 * time.Second}, ""},
		{"received once", []time.Duration{time.Hour}, ""},
		{"never received", nil, ""},
		{"ahead", []time.Duration{3 * time.Second, 3*time.Second - time.Millisecond}, "its clock is 3s ahead of this computer's"},
		{"behind", []time.Duration{-time.Hour, -time.Hour - time.Second}, "its clock is 1h0m0s behind this computer's"},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := seen(t, node("w1", corev1.ConditionTrue))
			for _, ahead := range test.beats {
				v.heartbeats.take(leaseOf("w1"), now.Add(ahead), now, now)
			}
			var want []Finding
			if test.saw != "" {
				want = []Finding{{Object: "Node w1", Saw: test.saw}}
			}
			wantSaw(t, judgeClocks(v), want...)
			if e := expectClocks(v); e.missing != "" || (e.nothing == "") != (len(test.beats) >= 2) {
				t.Errorf("after %d heartbeats: %+v", len(test.beats), e)
			}
		})
	}
}

func TestNodeConditions(t *testing.T) {
	pressed := node("w1", corev1.ConditionTrue, func(n *corev1.Node) {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeDiskPressure, Status: corev1.ConditionTrue, Reason: "KubeletHasDiskPressure"})
	})
	wantSaw(t, judgePressure(seen(t, pressed, node("w2", corev1.ConditionTrue))), Finding{Object: "Node w1", Saw: "DiskPressure: KubeletHasDiskPressure"})
	cordoned := node("w1", corev1.ConditionTrue, func(n *corev1.Node) { n.Spec.Unschedulable = true })
	lost := node("w2", corev1.ConditionTrue, tainted(corev1.TaintNodeOutOfService))
	wantSaw(t, judgeSchedulable(seen(t, cordoned, lost, node("w3", corev1.ConditionTrue, tainted("bank/gpu")))),
		Finding{Object: "Node w1", Saw: "cordoned"}, Finding{Object: "Node w2", Saw: "marked out of service"})
}

func TestKubeletVersions(t *testing.T) {
	of := func(name, version string) *corev1.Node {
		return node(name, corev1.ConditionTrue, func(n *corev1.Node) { n.Status.NodeInfo.KubeletVersion = version })
	}
	wantSaw(t, judgeVersions(seen(t, of("same", "v1.36.3"), of("older", "v1.33.0"), of("patch", "v1.36.9"), of("old", "v1.32.9"), of("newer", "v1.37.0"))),
		Finding{Object: "Node newer", Saw: "its kubelet is v1.37.0: newer than the API server (v1.36.3)"},
		Finding{Object: "Node old", Saw: "its kubelet is v1.32.9: more than 3 minor versions older than the API server (v1.36.3)"})
	// During an upgrade: a control-plane host's kubelet uses its own API server, others use any.
	server := func(node, version string) *corev1.Pod {
		return pod("kube-system", "kube-apiserver-"+node, node, func(p *corev1.Pod) { p.Status.ContainerStatuses[0].Image = "registry.k8s.io/kube-apiserver:" + version })
	}
	wantSaw(t, judgeVersions(seen(t, of("cp1", "v1.36.3"), of("cp2", "v1.35.8"), of("early", "v1.36.3"), server("cp1", "v1.36.3"), server("cp2", "v1.35.8"))),
		Finding{Object: "Node early", Saw: "its kubelet is v1.36.3: newer than the API server (v1.35.8)"})
	wantSaw(t, judgeVersions(seen(t, of("cp1", "v1.36.3"), server("cp1", "v1.35.8"))),
		Finding{Object: "Node cp1", Saw: "its kubelet is v1.36.3: newer than the API server (v1.35.8)"})
}

func TestStatefulSets(t *testing.T) {
	three := int32(3)
	of := func(change func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
		s := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db", Generation: 1}, Spec: appsv1.StatefulSetSpec{Replicas: &three}}
		s.Status = appsv1.StatefulSetStatus{ObservedGeneration: 1, Replicas: 3, UpdatedReplicas: 3, AvailableReplicas: 3, CurrentRevision: "a", UpdateRevision: "a"}
		change(s)
		return s
	}
	updating := func(s *appsv1.StatefulSet) { s.Status.UpdatedReplicas, s.Status.UpdateRevision = 1, "b" }
	partition := int32(2)
	for _, test := range []struct {
		name string
		set  *appsv1.StatefulSet
		saw  string
	}{
		{"healthy", of(func(*appsv1.StatefulSet) {}), ""},
		{"updating", of(updating), "1 of 3 pods updated"},
		{"updated up to its partition", of(func(s *appsv1.StatefulSet) {
			updating(s)
			s.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition}
		}), ""},
		{"updated by hand", of(func(s *appsv1.StatefulSet) {
			updating(s)
			s.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
		}), ""},
		{"one is missing", of(func(s *appsv1.StatefulSet) { s.Status.AvailableReplicas = 2 }), "2 of 3 pods available"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var want []Finding
			if test.saw != "" {
				want = []Finding{{Object: "StatefulSet shop/db", Saw: test.saw}}
			}
			wantSaw(t, judgeWorkloads(seen(t, test.set), namespaces{"kube-system"}.hasNot, nil), want...)
			wantSaw(t, judgeWorkloads(seen(t, test.set), namespaces{"kube-system"}.has, nil))
		})
	}
}

// TestServicesWithoutEndpoints checks Services without an endpoint, and the objects that refer to them.
func TestServicesWithoutEndpoints(t *testing.T) {
	hookTo := func(service string) *admissionv1.ValidatingWebhookConfiguration {
		return &admissionv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: "policy"},
			Webhooks: []admissionv1.ValidatingWebhook{{Name: "pods.policy", ClientConfig: admissionv1.WebhookClientConfig{
				Service: &admissionv1.ServiceReference{Namespace: "kube-system", Name: service},
			}}},
		}
	}
	ignored := admissionv1.Ignore
	mutating := &admissionv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "inject"},
		Webhooks: []admissionv1.MutatingWebhook{
			{Name: "pods.inject", FailurePolicy: &ignored, ClientConfig: admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: "kube-system", Name: "gone"}}},
		},
	}
	outside := "https://10.0.0.1/"
	elsewhere := &admissionv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "site"}, Webhooks: []admissionv1.MutatingWebhook{{Name: "pods.site", ClientConfig: admissionv1.WebhookClientConfig{URL: &outside}}},
	}
	v := seen(t, dnsService(), endpoints(true), hookTo("kube-dns"), mutating, elsewhere)
	wantSaw(
		t,
		judgeWebhooks(v, anyNamespace),
		Finding{Object: "MutatingWebhookConfiguration inject, pods.inject", Saw: "Service kube-system/gone does not exist; the API server accepts its objects without it"},
	)
	wantSaw(t, dns().judge(v))

	v = seen(t, dnsService(), endpoints(false), hookTo("kube-dns"))
	wantSaw(
		t,
		judgeWebhooks(v, anyNamespace),
		Finding{Object: "ValidatingWebhookConfiguration policy, pods.policy", Saw: "Service kube-system/kube-dns has no ready pod; the API server rejects the objects that it should check"},
	)
	wantSaw(t, judgeWebhooks(v, namespaces{"kube-system"}.hasNot))
	wantSaw(t, dns().judge(v), Finding{Object: "Service kube-system/kube-dns", Saw: "Service kube-system/kube-dns has no ready pod"})
}

func anyNamespace(string) bool { return true }

func TestAPIServices(t *testing.T) {
	of := func(name, status string) metav1.Object {
		o := untyped("apiregistration.k8s.io/v1", "APIService", name, map[string]any{"service": map[string]any{"namespace": "kube-system", "name": "metrics-server"}})
		o.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Available", "status": status, "reason": "MissingEndpoints", "message": "none"}}}
		return o
	}
	wantSaw(t, apiServicesAnswer(anyNamespace).judge(seen(t, of("good", "True"), of("bad", "False"), untyped("apiregistration.k8s.io/v1", "APIService", "v1.", map[string]any{}))),
		Finding{Object: "APIService bad", Saw: "not available: MissingEndpoints: none"})
}

// TestWorkloadsSeeNodes: if it is the only rule, workloads still watches the nodes for DaemonSets,
// unless the scope excludes nodes.
func TestWorkloadsSeeNodes(t *testing.T) {
	for _, scope := range [][]string{nil, {"shop"}} {
		e := newEngine(Options{Only: []string{"workloads"}, Scope: scope}, nil)
		always, _ := e.kindsWatched()
		if got := slices.Contains(always, nodes); got != (scope == nil) {
			t.Errorf("in %v: nodes are watched: %t", scope, got)
		}
	}
}

// TestApplies: a rule is evaluated if the cluster and the scope have its kinds.
func TestApplies(t *testing.T) {
	everything := seen(t)
	plain := seen(t)
	for k, s := range sources {
		if s.optional {
			delete(plain.caches, k)
		}
	}
	tenant := seen(t)
	for k, s := range sources {
		if !s.namespaced {
			delete(tenant.caches, k)
		}
	}
	tenant.site.scope = map[string]presence{"shop": isThere}
	for _, test := range []struct {
		rule                  rule
		all, plain, oneOfMine bool
	}{
		{nodesReady(nil), true, true, false},
		{nodeLeases(), true, true, false},
		{dns(), true, true, false},
		{noIPIP(), true, false, false},
		{reportsFresh(), true, false, false},
		{unitsRun(), true, false, false},
		{otherPods(nil), true, true, true},
		{otherWorkloads(nil), true, true, true},
		{systemPods(nil), true, true, false},
	} {
		if got := test.rule.leftOut(everything) == ""; got != test.all {
			t.Errorf("%s: %v in a cluster with all kinds", test.rule.id, got)
		}
		if got := test.rule.leftOut(plain) == ""; got != test.plain {
			t.Errorf("%s: %v in a cluster without optional kinds", test.rule.id, got)
		}
		if got := test.rule.leftOut(tenant) == ""; got != test.oneOfMine {
			t.Errorf("%s: %v with access to one namespace", test.rule.id, got)
		}
		if got := test.rule.within([]string{"shop"}); got != test.oneOfMine {
			t.Errorf("%s: %v before a view exists", test.rule.id, got)
		}
	}
}
