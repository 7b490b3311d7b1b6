package verify

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"airgap.dev/airgap/verify/states"
)

// The functions below put a pod of the fixtures into a state of the table.

func onFailure(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyOnFailure }

func terminated(code int32, at time.Time) corev1.ContainerState {
	reason := "Error"
	if code == 0 {
		reason = "Completed"
	}
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, FinishedAt: metav1.NewTime(at)}}
}

// withSecond adds a second container that works.
func withSecond(p *corev1.Pod) {
	second := p.Status.ContainerStatuses[0]
	second.Name = "second"
	p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, second)
}

// exits ends the first container.
func exits(code int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		unready("ContainersNotReady", "containers with unready status: [main]")(p)
		p.Status.ContainerStatuses[0].Ready = false
		p.Status.ContainerStatuses[0].State = terminated(code, time.Now())
	}
}

func withInit(state corev1.ContainerState) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: "prepare"})
		p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses, corev1.ContainerStatus{Name: "prepare", Ready: true, State: state})
	}
}

func withSidecar(state corev1.ContainerState) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		always := corev1.ContainerRestartPolicyAlways
		p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: "proxy", RestartPolicy: &always})
		p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses, corev1.ContainerStatus{Name: "proxy", Ready: state.Running != nil, State: state})
	}
}

func withEphemeral(state corev1.ContainerState) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.EphemeralContainerStatuses = []corev1.ContainerStatus{{Name: "debugger", State: state}}
	}
}

// gated holds the pod by a scheduling gate.
func gated(p *corev1.Pod) { unscheduledFor(p, corev1.PodReasonSchedulingGated) }

func unscheduled(p *corev1.Pod) { unscheduledFor(p, corev1.PodReasonUnschedulable) }

func unscheduledFor(p *corev1.Pod, reason string) {
	p.Spec.NodeName, p.Status.Phase, p.Status.ContainerStatuses = "", corev1.PodPending, nil
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason, Message: "0/2 nodes"}}
}

func pending(p *corev1.Pod) {
	waiting("ContainerCreating", "")(p)
	p.Status.Phase = corev1.PodPending
}

func succeeded(p *corev1.Pod) {
	exits(0)(p)
	p.Status.Phase = corev1.PodSucceeded
}

func failedPod(p *corev1.Pod) {
	exits(3)(p)
	p.Status.Phase = corev1.PodFailed
}

// evictedPod makes the pod fail as a whole.
func evictedPod(p *corev1.Pod) {
	unready("", "")(p)
	p.Status.Phase, p.Status.Reason, p.Status.Message, p.Status.ContainerStatuses = corev1.PodFailed, "Evicted", "low on memory", nil
}

// deletedSince deletes the pod. Its grace period ends at left from now.
func deletedSince(left time.Duration, finalizers ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		until, grace := metav1.NewTime(time.Now().Add(left)), int64(30)
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds, p.Finalizers = &until, &grace, finalizers
	}
}

func createdAt(at time.Time) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(at) }
}

// controlledBy returns a controller reference: "apps/v1", "ReplicaSet", "web-7d".
func controlledBy(version, kind, name string) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: name, UID: types.UID(kind + name), Controller: &yes}}
}

// Owners in the table of judgements.
const (
	anyOwner     = states.AnyOwner
	workloadsOwn = states.WorkloadsOwn
	jobOwns      = states.JobOwns
	nodeOwns     = states.NodeOwns
	nobodyOwns   = states.NoOwner
	otherOwns    = states.OtherOwns
)

// owners returns, for each type of owner in the table, functions that set such an owner.
func owners() map[string][]func(*corev1.Pod) {
	by := func(version, kind, name string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.OwnerReferences = controlledBy(version, kind, name)
			if kind == "ReplicaSet" && name == "web-7d" {
				p.Labels = map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: "7d"}
			}
		}
	}
	return map[string][]func(*corev1.Pod){
		workloadsOwn: {by("apps/v1", "ReplicaSet", "web-7d"), by("apps/v1", "ReplicaSet", "bare"), by("apps/v1", "StatefulSet", "db"), by("apps/v1", "DaemonSet", "agent")},
		jobOwns:      {by("batch/v1", "Job", "nightly")},
		nodeOwns:     {by("v1", "Node", "w1")},
		nobodyOwns:   {func(*corev1.Pod) {}},
		otherOwns:    {by("kafka.example.org/v1", "Kafka", "log"), by("batch.volcano.sh/v1", "Job", "train"), by("v1", "ReplicationController", "old")},
	}
}

// ownersOf returns the owners in a namespace. Each of them has lacks pods too few.
func ownersOf(namespace string, missingPods int32) []metav1.Object {
	m := func(name, kind string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(kind + name), Generation: 1}
	}
	two := int32(2)
	return []metav1.Object{
		&appsv1.Deployment{
			ObjectMeta: m("web", "Deployment"),
			Spec:       appsv1.DeploymentSpec{Replicas: &two},
			Status:     appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 2, UpdatedReplicas: 2, AvailableReplicas: 2 - missingPods},
		},
		&appsv1.ReplicaSet{
			ObjectMeta: m("bare", "ReplicaSet"),
			Spec:       appsv1.ReplicaSetSpec{Replicas: &two},
			Status:     appsv1.ReplicaSetStatus{ObservedGeneration: 1, Replicas: 2, AvailableReplicas: 2 - missingPods},
		},
		&appsv1.StatefulSet{
			ObjectMeta: m("db", "StatefulSet"),
			Spec:       appsv1.StatefulSetSpec{Replicas: &two},
			Status:     appsv1.StatefulSetStatus{ObservedGeneration: 1, Replicas: 2, UpdatedReplicas: 2, AvailableReplicas: 2 - missingPods},
		},
		&appsv1.DaemonSet{
			ObjectMeta: m("agent", "DaemonSet"),
			Spec:       appsv1.DaemonSetSpec{Template: onlyOn("w1")},
			Status:     appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: 1, UpdatedNumberScheduled: 1, NumberAvailable: 1},
		},
	}
}

// onlyOn returns the template of a DaemonSet for one node.
func onlyOn(name string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{NodeSelector: map[string]string{corev1.LabelHostname: name}}}
}

func job(namespace, name string, changes ...func(*batchv1.Job)) *batchv1.Job {
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("Job" + name)}, Status: batchv1.JobStatus{Active: 1}}
	for _, change := range changes {
		change(j)
	}
	return j
}

func turned(of batchv1.JobConditionType, reason string) func(*batchv1.Job) {
	return func(j *batchv1.Job) {
		j.Status.Active = 0
		j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: of, Status: corev1.ConditionTrue, Reason: reason})
	}
}
