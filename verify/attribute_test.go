package verify

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/verify/result"
)

// TestPlace: findings about workloads of the site have a place: the workload, and the nodes of its pods that do not work.
func TestPlace(t *testing.T) {
	crashes := waiting("CrashLoopBackOff", "")
	agent := func(p *corev1.Pod) { ownedBy("agent")(p) }
	inShop := func(d *appsv1.Deployment) { d.Namespace = "shop" }
	v := seen(t,
		pod("shop", "alone", "w7", crashes), pod("shop", "waiting", "", crashes), pod("kube-system", "proxy", "w7", crashes),
		pod("ops", "agent-1", "w1", agent), pod("ops", "agent-2", "w7", agent, crashes),
		daemonSet("agent", 2, func(d *appsv1.DaemonSet) { d.Namespace, d.Status.NumberAvailable = "ops", 1 }),
		daemonSet("incomplete", 2, func(d *appsv1.DaemonSet) { d.Namespace, d.Status.NumberAvailable = "ops", 1 }),
		deployment("web", inShop),
	)
	for object, want := range map[string]*result.Place{
		"Pod shop/alone":           {Owner: "Pod shop/alone", Nodes: []string{"w7"}},
		"Pod shop/waiting":         {Owner: "Pod shop/waiting", Nodes: []string{""}},
		"Pod ops/agent-2":          {Owner: "DaemonSet ops/agent", Nodes: []string{"w7"}},
		"DaemonSet ops/agent":      {Owner: "DaemonSet ops/agent", Nodes: []string{"w7"}},
		"DaemonSet ops/incomplete": {Owner: "DaemonSet ops/incomplete", Nodes: []string{""}}, // a pod is missing
		"Deployment shop/web":      {Owner: "Deployment shop/web", Nodes: []string{""}},
		"Deployment shop/gone":     {Owner: "Deployment shop/gone"},
		"Job shop/night":           {Owner: "Job shop/night"},
		"Pod kube-system/proxy":    nil,
		"Pod shop/gone":            nil,
		"Node w7":                  nil,
		"ReplicaSet shop/web":      nil,
		"Namespace shop":           nil,
		"PersistentVolume a/b":     nil,
	} {
		got := placeOf(v, object, namespaces{metav1.NamespaceSystem})
		if (got == nil) != (want == nil) || got != nil && (got.Owner != want.Owner || !slices.Equal(got.Nodes, want.Nodes)) {
			t.Errorf("%s: got %+v, want %+v", object, got, want)
		}
	}
}

// TestAttribute: only findings of rules about workloads are attributed, and only new ones. An attributed one does not decide.
func TestAttribute(t *testing.T) {
	e := &engine{view: seen(t, pod("shop", "web", "w7"), pod("bank", "core", "w7")), options: Options{
		Namespaces: []string{metav1.NamespaceSystem},
		Elsewhere:  func(f result.Finding) bool { return f.Place.Owner == "Pod shop/web" },
	}}
	for rule, want := range map[string]bool{"pods": true, "data-plane": false} {
		all := []Finding{{Object: "Pod shop/web"}, {Object: "Pod bank/core"}, {Object: "Pod shop/web", Known: true}}
		e.attribute(rule, all)
		if all[0].Elsewhere != want || all[1].Elsewhere || all[2].Elsewhere || all[0].Decides() == want {
			t.Errorf("%s: %+v", rule, all)
		}
	}
	b := newBoard()
	b.add("pods", "Pods run")
	b.record("pods", []Finding{{Object: "Pod shop/web", Elsewhere: true}}, e.view.now)
	if line, _ := b.rows["pods"].line(); !b.allOK() || b.rows["pods"].outcome() != result.Known || line != "Pods run: broken, but not because of the changed hosts" {
		t.Errorf("got %q", line)
	}
}
