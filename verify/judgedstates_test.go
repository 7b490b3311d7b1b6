package verify

import (
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/verify/states"
)

// inState has objects in one state of the table.
type inState struct {
	objects []metav1.Object
	names   string // the object of the finding
}

// TestJudgements checks each row of the table: exactly the named rule reports an object in this
// state, with the expected name, or no rule does. Each row is checked with each of its owners, in a
// system namespace and in another one.
func TestJudgements(t *testing.T) {
	for _, j := range states.All() {
		if j.State == "" {
			continue
		}
		t.Run(j.Kind+" of "+j.Owner+" "+j.State, func(t *testing.T) {
			for nth, namespace := range []string{"shop", "kube-system"} {
				cases := statesOf(j, namespace)
				if len(cases) == 0 {
					t.Fatal("no object in that state")
				}
				want := ""
				if len(j.Rules) > 0 {
					want = j.Rules[min(nth, len(j.Rules)-1)]
				}
				for _, c := range cases {
					found := judgeStates(seen(t, append(twoNodes(), c.objects...)...))
					if want == "" && len(found) > 0 {
						t.Errorf("in %s: found by %v: want none", namespace, found)
					}
					if want != "" && (len(found) != 1 || found[0].Rule != want || found[0].Object != c.names || found[0].Fix == "") {
						t.Errorf("in %s: found %+v, want only %q by %s", namespace, found, c.names, want)
					}
				}
			}
		})
	}
}

// twoNodes returns a cluster of two nodes without workloads.
func twoNodes() []metav1.Object {
	cp := node("cp1", corev1.ConditionTrue, controlPlaneNode)
	w1 := node("w1", corev1.ConditionTrue, func(n *corev1.Node) { n.Labels[corev1.LabelHostname] = "w1" })
	list := []metav1.Object{cp, w1}
	for _, component := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		list = append(list, pod("kube-system", component+"-cp1", "cp1"))
	}
	return list
}

// judgeStates evaluates the rules about states.
func judgeStates(v view) []Finding {
	var found []Finding
	for _, r := range rules(Options{Namespaces: []string{"kube-system"}, Workloads: []string{}}, nil, nil) {
		if !slices.Contains([]string{
			"nodes-ready", "nodes-pressure", "nodes-schedulable", "control-plane", "system-workloads", "workloads", "system-pods", "pods", "jobs", "terminating",
		}, r.id) {
			continue
		}
		for _, f := range r.judge(v) {
			f.Rule = r.id
			found = append(found, f)
		}
	}
	return found
}

// statesOf returns objects in a state of the table, one case for each type of owner.
func statesOf(j states.State, namespace string) []inState {
	switch {
	case j.Kind != "Pod":
		return controllerStates(namespace)[j.Kind+" "+j.State]
	case j.Owner == anyOwner:
		return livePods(namespace)[j.State]
	}
	return endedPods(j.Owner, namespace)[j.State]
}

// livePods returns pods of each type of owner. The owners are complete.
func livePods(namespace string) map[string][]inState {
	all := map[string][]inState{}
	add := func(state string, changes ...func(*corev1.Pod)) {
		for _, some := range owners() {
			for _, owner := range some {
				p := pod(namespace, "p", "w1", append([]func(*corev1.Pod){owner, createdAt(time.Now())}, changes...)...)
				c := inState{append(ownersOf(namespace, 0), job(namespace, "nightly"), p), "Pod " + namespace + "/p"}
				if daemon := metav1.GetControllerOf(p); daemon == nil || daemon.Kind != "DaemonSet" || p.DeletionTimestamp != nil || p.Spec.NodeName != "w1" || p.Status.Phase == corev1.PodSucceeded {
					c.objects = append(c.objects, pod(namespace, "agent-on-w1", "w1", owners()[workloadsOwn][3]))
				}
				all[state] = append(all[state], c)
			}
		}
	}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	now, held := time.Now(), corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}
	gate := func(p *corev1.Pod) {
		p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "bank/listed"}}
	}
	add("running and ready")
	add("running, but a probe or a readiness gate reports not ready", unready("ContainersNotReady", "main"))
	add("running, but a probe or a readiness gate reports not ready", gate, unready("ReadinessGatesNotReady", "bank/listed"))
	add("running, but a probe or a readiness gate reports not ready", onFailure, withSecond, exits(0), gate)
	add("running, but a container waits: image, configuration, crash loop", waiting("CrashLoopBackOff", "back-off 10s"))
	add("running, but a container failed", onFailure, withSecond, exits(1))
	add("running, one container completed, another runs (restart policy Never or OnFailure)", onFailure, withSecond, exits(0))
	add("running, one container completed, another runs (restart policy Never or OnFailure)", onFailure, withSecond, exits(0), withSidecar(running))
	add("an init container waits or fails", pending, withInit(held))
	add("an init container waits or fails", pending, withInit(terminated(1, now)))
	add("its init containers are complete", withInit(terminated(0, now)))
	add("a sidecar (init container that restarts) fails while the others run", withSidecar(terminated(137, now)), unready("ContainersNotReady", "proxy"))
	add("completed, and the kubelet stopped its sidecar (exit code 137 or 143)", onFailure, exits(0), withSidecar(terminated(143, now)))
	add("completed, and the kubelet stopped its sidecar (exit code 137 or 143)", onFailure, succeeded, withSidecar(terminated(137, now)))
	add("an ephemeral container failed", withEphemeral(terminated(1, now)))
	add("an ephemeral container failed", withEphemeral(held))
	add("Pending, not scheduled", unscheduled)
	add("Pending, held by a scheduling gate", gated)
	add("Pending on its node, its containers are being created", pending)
	add("Terminating, within its grace period and a minute", deletedSince(time.Minute), exits(143))
	add("Terminating, within its grace period and a minute", deletedSince(-lateAfter/2, "bank/book"))
	add("Terminating for longer, because of a finalizer or a node that does not answer", deletedSince(-2*lateAfter, "bank/book"))
	add("Succeeded (restart policy Never or OnFailure)", onFailure, succeeded)
	add("its node does not exist", func(p *corev1.Pod) { p.Spec.NodeName = "gone" })
	for _, c := range all["running and ready"] {
		c.objects = append(c.objects, node("w2", corev1.ConditionUnknown), pod(namespace, "q", "w2"))
		all["its node is not Ready"] = append(all["its node is not Ready"], inState{c.objects, "Node w2"})
	}
	return all
}

// endedPods returns pods that failed, were evicted, or succeeded although they should run permanently.
func endedPods(owner, namespace string) map[string][]inState {
	all := map[string][]inState{}
	born := time.Now().Add(-time.Hour)
	names := []string{"Deployment " + namespace + "/web", "ReplicaSet " + namespace + "/bare", "StatefulSet " + namespace + "/db", "DaemonSet " + namespace + "/agent"}
	failed := job(namespace, "nightly", turned(batchv1.JobFailed, "BackoffLimitExceeded"))
	for _, end := range []func(*corev1.Pod){failedPod, evictedPod, succeeded} {
		for i, of := range owners()[owner] {
			p := pod(namespace, "p", "w1", of, createdAt(born), end)
			next := pod(namespace, "next", "w1", of, createdAt(time.Now().Add(time.Second)))
			add := func(state, object string, objects ...metav1.Object) {
				all[state] = append(all[state], inState{append(objects, p), object})
			}
			add("ended", "Pod "+namespace+"/p")
			add("ended, and no newer pod of its owner is healthy", "Pod "+namespace+"/p", pod(namespace, "older", "w1", of, createdAt(born.Add(-time.Hour))))
			add("ended, and a newer pod of its owner is healthy", "", next)
			add("failed, and its Job has failed", "Job "+namespace+"/nightly", failed)
			add("failed, and its Job retries or has succeeded", "", job(namespace, "nightly"))
			add("failed, and its Job retries or has succeeded", "", job(namespace, "nightly", turned(batchv1.JobComplete, "")))
			add("ended, and replaced", "", append(ownersOf(namespace, 0), next, pod(namespace, "agent-on-w1", "w1", owners()[workloadsOwn][3]))...)
			if owner == workloadsOwn {
				add("ended, and not replaced", names[i], ownersWithout(namespace, i)...)
			}
		}
	}
	return all
}

// ownersWithout returns the owners; the i-th one has a pod too few.
func ownersWithout(namespace string, i int) []metav1.Object {
	list := ownersOf(namespace, 0)
	if i == 3 {
		return list // its pod is the ended one
	}
	list[i] = ownersOf(namespace, 1)[i]
	return append(list, pod(namespace, "agent-on-w1", "w1", owners()[workloadsOwn][3]))
}

// deletedAgo marks an object without a grace period as deleted.
func deletedAgo[T metav1.Object](o T, ago time.Duration, finalizers ...string) T {
	at := metav1.NewTime(time.Now().Add(-ago))
	o.SetDeletionTimestamp(&at)
	o.SetFinalizers(finalizers)
	return o
}

func changed[T any](o T, change func(T)) T {
	change(o)
	return o
}

// paused pauses a Deployment after a change of its template.
func paused(d *appsv1.Deployment) {
	d.Spec.Paused, d.Status.UpdatedReplicas = true, 0
}
