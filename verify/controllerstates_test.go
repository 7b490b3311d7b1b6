package verify

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// controllerStates returns the states of workloads, Jobs, namespaces and nodes, by "KIND STATE".
func controllerStates(namespace string) map[string][]inState {
	all := map[string][]inState{}
	for _, states := range []func(string, func(string, string, ...metav1.Object)){replicaStates, daemonStates, jobStates, otherStates} {
		states(namespace, func(state, names string, objects ...metav1.Object) {
			all[state] = append(all[state], inState{objects, names})
		})
	}
	return all
}

func replicaStates(namespace string, add func(state, names string, objects ...metav1.Object)) {
	of := func(missingPods int32) (*appsv1.Deployment, *appsv1.ReplicaSet, *appsv1.StatefulSet) {
		list := ownersOf(namespace, missingPods)
		return list[0].(*appsv1.Deployment), list[1].(*appsv1.ReplicaSet), list[2].(*appsv1.StatefulSet)
	}
	incompleteWeb, incompleteBare, incompleteDB := of(1)
	web, inside, old := of(0)
	zero, partition := int32(0), int32(1)
	add("Deployment has fewer pods than required, or old ones: a rollout, a quota, an admission policy", "Deployment "+namespace+"/web", incompleteWeb)
	add("Deployment has fewer pods than required, or old ones: a rollout, a quota, an admission policy", "Deployment "+namespace+"/web",
		changed(web.DeepCopy(), func(d *appsv1.Deployment) { d.Status.Replicas = 3 }))
	add("Deployment paused, and all its pods are available", "", changed(web.DeepCopy(), paused))
	add("Deployment scaled to 0", "", changed(web.DeepCopy(), func(d *appsv1.Deployment) {
		d.Spec.Replicas, d.Status = &zero, appsv1.DeploymentStatus{ObservedGeneration: 1}
	}))
	add("Deployment deleted, but still exists a minute after its pods' grace period", "Deployment "+namespace+"/web", deletedAgo(incompleteWeb.DeepCopy(), 2*lateAfter, metav1.FinalizerDeleteDependents))
	add("Deployment deleted a moment ago", "", deletedAgo(incompleteWeb.DeepCopy(), 0))
	add("Deployment deleted a moment ago", "", deletedAgo(incompleteWeb.DeepCopy(), time.Hour, metav1.FinalizerDeleteDependents), pod(namespace, "slow", "w1", deletedSince(time.Second)))
	add("ReplicaSet without a Deployment, has fewer pods than required", "ReplicaSet "+namespace+"/bare", incompleteBare)
	inside.OwnerReferences, inside.Status.AvailableReplicas = controlledBy("apps/v1", "Deployment", "web"), 0
	add("ReplicaSet of a Deployment", "", inside, web)
	add("StatefulSet has fewer pods than required, or old ones", "StatefulSet "+namespace+"/db", incompleteDB)
	old.Status.UpdatedReplicas, old.Status.CurrentRevision, old.Status.UpdateRevision = 1, "a", "b"
	add("StatefulSet has fewer pods than required, or old ones", "StatefulSet "+namespace+"/db", old.DeepCopy())
	byHand := "StatefulSet updated manually (OnDelete), or up to a partition"
	add(byHand, "", changed(old.DeepCopy(), func(s *appsv1.StatefulSet) { s.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType }))
	add(byHand, "", changed(old.DeepCopy(), func(s *appsv1.StatefulSet) {
		s.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition}
	}))
}

func daemonStates(namespace string, add func(state, names string, objects ...metav1.Object)) {
	agent := ownersOf(namespace, 0)[3].(*appsv1.DaemonSet)
	mine := owners()[workloadsOwn][3]
	missingPods := "DaemonSet has no pod on a node that it selects, or that pod has ended"
	add(missingPods, "DaemonSet "+namespace+"/agent", agent)
	add(missingPods, "DaemonSet "+namespace+"/agent", agent, pod(namespace, "a", "w1", mine, failedPod))
	add(missingPods, "DaemonSet "+namespace+"/agent", agent, pod(namespace, "a", "w1", mine, succeeded))
	named := agent.DeepCopy()
	named.Spec.Template.Spec = corev1.PodSpec{NodeName: "w1"}
	add("DaemonSet names one node (nodeName), and has a pod on it", "", named, pod(namespace, "a", "w1", mine))
}

func jobStates(namespace string, add func(state, names string, objects ...metav1.Object)) {
	held, indexes := true, "1,3"
	name := "Job " + namespace + "/nightly"
	scheduled := func(made time.Time, changes ...func(*batchv1.Job)) func(*batchv1.Job) {
		return func(j *batchv1.Job) {
			j.OwnerReferences, j.CreationTimestamp = controlledBy("batch/v1", "CronJob", "night"), metav1.NewTime(made)
			for _, change := range changes {
				change(j)
			}
		}
	}
	failed, complete := turned(batchv1.JobFailed, "BackoffLimitExceeded"), turned(batchv1.JobComplete, "")
	add("Job failed: limit of retries, deadline, policy", name, job(namespace, "nightly", failed))
	add("Job failed: limit of retries, deadline, policy", name, job(namespace, "nightly", turned(batchv1.JobFailureTarget, "PodFailurePolicy")))
	add("Job failed: limit of retries, deadline, policy", name, job(namespace, "nightly", scheduled(time.Now(), failed)), job(namespace, "last", scheduled(time.Now().Add(-time.Hour), complete)))
	add("Job continues without some indexes, which failed", name, job(namespace, "nightly", func(j *batchv1.Job) { j.Status.FailedIndexes = &indexes }))
	idle := func(j *batchv1.Job) { j.Status.Active = 0 }
	add("Job has no pod: a quota or an admission policy", name, job(namespace, "nightly", idle))
	tried := func(j *batchv1.Job) { j.Status.Active, j.Status.Failed = 0, 1 }
	long := time.Now().Add(-retriesWithin - time.Minute)
	add("Job does not retry within 12 minutes", name, job(namespace, "nightly", tried), pod(namespace, "p", "w1", owners()[jobOwns][0], createdAt(long), failedPod, func(p *corev1.Pod) {
		p.Status.ContainerStatuses[0].State = terminated(1, long)
	}))
	add("Job suspended", "", job(namespace, "nightly", tried, func(j *batchv1.Job) { j.Spec.Suspend = &held }))
	add("Job failed, and a newer one of its CronJob succeeded", "", job(namespace, "nightly", scheduled(time.Now().Add(-time.Hour), failed)), job(namespace, "next", scheduled(time.Now(), complete)))
}

func otherStates(namespace string, add func(state, names string, objects ...metav1.Object)) {
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	stuck := "Namespace deleted, but still exists a minute after its pods' grace period"
	add(stuck, "Namespace "+namespace, deletedAgo(space.DeepCopy(), 2*lateAfter))
	add("Namespace deleted a moment ago", "", deletedAgo(space.DeepCopy(), lateAfter/2))
	add("Namespace deleted a moment ago", "", deletedAgo(space.DeepCopy(), time.Hour), pod(namespace, "slow", "w1", deletedSince(time.Minute)))
	add("Node not Ready, or without a heartbeat", "Node w2", node("w2", corev1.ConditionFalse))
	add("Node not Ready, or without a heartbeat", "Node w2", node("w2", corev1.ConditionUnknown))
	add("Node cordoned, or out of service", "Node w2", node("w2", corev1.ConditionTrue, func(n *corev1.Node) { n.Spec.Unschedulable = true }))
	add("Node under memory, disk or PID pressure", "Node w2", node("w2", corev1.ConditionTrue, func(n *corev1.Node) {
		n.Status.Conditions[0].Status = corev1.ConditionTrue
	}))
}
