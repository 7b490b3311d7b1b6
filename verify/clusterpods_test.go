package verify

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// drawnPod is a random pod, by the dimensions of the table.
type drawnPod struct {
	name    string
	of      string // owner
	nth     int    // index in that type of owner
	age     time.Duration
	node    string // w1, w2, or gone
	restart corev1.RestartPolicy
	life    string // phase of its life
	work    string // state of the first container of a running pod
	second  bool   // it has a second container, which works
	sidecar string
	debug   bool   // a failed ephemeral container
	gate    string // a readiness gate
	deleted string
}

func (c *drawnCluster) pod(name string) drawnPod {
	of := c.one(workloadsOwn, jobOwns, nodeOwns, nobodyOwns, otherOwns)
	return drawnPod{
		name: name, of: of, nth: c.IntN(len(owners()[of])), age: time.Duration(1+c.IntN(1000)) * time.Minute,
		node:    c.one("w1", "w1", "w1", "w2", "gone"),
		restart: corev1.RestartPolicy(c.one("Always", "OnFailure", "Never")),
		life:    c.one("running", "running", "running", "made", "unscheduled", "gated", "succeeded", "failed", "evicted"),
		work:    c.one("fine", "fine", "unready", "crash loop", "done", "ended badly"),
		second:  c.IntN(2) == 0, sidecar: c.one("", "", "runs", "killed"), debug: c.IntN(4) == 0,
		gate: c.one("", "", "open", "closed"), deleted: c.one("", "", "", "in grace", "long ago"),
	}
}

func (p drawnPod) scheduled() bool { return p.life != "unscheduled" && p.life != "gated" }

func (p drawnPod) over() bool {
	return p.life == "succeeded" || p.life == "failed" || p.life == "evicted"
}

// broken returns whether the pod must be reported.
func (p drawnPod) broken(others []drawnPod) bool {
	switch {
	case p.deleted != "":
		return p.deleted == "long ago"
	case p.scheduled() && p.node == "gone":
		return true
	case p.over() && (p.of == workloadsOwn || p.of == jobOwns):
		return false
	case p.over() && p.of == otherOwns && slices.ContainsFunc(others, p.precedes):
		return false
	}
	return p.troubled()
}

// precedes reports whether another pod is its successor, which is at least a minute younger.
func (p drawnPod) precedes(o drawnPod) bool {
	return o.of == p.of && o.nth == p.nth && o.age < p.age && o.deleted == "" && !o.troubled()
}

// troubled reports whether the pod does not do its work, for any cause.
func (p drawnPod) troubled() bool {
	isRestarted := p.restart == corev1.RestartPolicyAlways
	finished := p.work == "done" && !p.second && !isRestarted
	switch p.life {
	case "made", "unscheduled", "failed", "evicted":
		return true
	case "gated":
		return false
	case "succeeded":
		return isRestarted
	}
	return !finished && (p.sidecar == "killed" || p.gate == "closed" || p.work != "fine" && (p.work != "done" || isRestarted))
}

// object returns the pod as an API server would return it.
func (p drawnPod) object(namespace string) *corev1.Pod {
	made := time.Now().Add(-p.age)
	o := pod(namespace, p.name, p.node, owners()[p.of][p.nth], createdAt(made))
	o.Spec.RestartPolicy = p.restart
	p.works(o)
	lives := map[string]func(*corev1.Pod){"made": pending, "unscheduled": unscheduled, "gated": gated, "succeeded": succeeded, "failed": failedPod, "evicted": evictedPod}
	if live := lives[p.life]; live != nil {
		live(o)
	}
	if p.over() {
		o.CreationTimestamp = metav1.NewTime(made.Add(-30 * time.Second)) // it ended between its creation and that of the next pod
		for i := range o.Status.ContainerStatuses {
			o.Status.ContainerStatuses[i].State = terminated(map[string]int32{"failed": 3}[p.life], made)
		}
		for i := range o.Status.InitContainerStatuses {
			o.Status.InitContainerStatuses[i].State = terminated(143, made)
		}
	}
	switch p.deleted {
	case "in grace":
		deletedSince(time.Minute)(o)
	case "long ago":
		deletedSince(-time.Hour, "bank/book")(o)
	}
	return o
}

// works adds containers and their statuses.
func (p drawnPod) works(o *corev1.Pod) {
	if p.second {
		withSecond(o)
	}
	works := map[string]func(*corev1.Pod){"unready": unready("ContainersNotReady", "main"), "crash loop": waiting("CrashLoopBackOff", "back-off 10s"), "done": exits(0), "ended badly": exits(1)}
	if work := works[p.work]; work != nil {
		work(o)
	}
	if p.work == "unready" || p.work == "crash loop" {
		o.Status.ContainerStatuses[0].Ready = false
	}
	switch p.sidecar {
	case "runs":
		withSidecar(corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})(o)
	case "killed":
		withSidecar(terminated(137, time.Now()))(o)
		unready("ContainersNotReady", "proxy")(o)
	}
	if p.debug {
		withEphemeral(terminated(1, time.Now()))(o)
	}
	if p.gate != "" {
		o.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "bank/listed"}}
	}
	switch p.gate {
	case "open":
		o.Status.Conditions = append(o.Status.Conditions, corev1.PodCondition{Type: "bank/listed", Status: corev1.ConditionTrue})
	case "closed":
		unready("ReadinessGatesNotReady", "bank/listed")(o)
	}
}
