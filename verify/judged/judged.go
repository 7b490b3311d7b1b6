// Package judged is a table: who judges what of a cluster, and why nobody does where none does.
package judged

import "slices"

// Judgement says who judges the objects of a kind in a state.
type Judgement struct {
	Kind  string `json:"kind"`            // "Pod"
	Group string `json:"group,omitempty"` // of the API; "" of Kubernetes' core
	Owner string `json:"owner,omitempty"` // of a pod: what kind of controller it has
	State string `json:"state,omitempty"` // "" for any that no other row is about
	// Rules find an object in that state, itself or through its owner: of two that share
	// the work the second one in the system's namespaces.
	Rules []string `json:"rules,omitempty"`
	Why   string   `json:"why,omitempty"` // no rule finds it
}

// Owners of a pod, as the table of judgements tells them apart.
const (
	AnyOwner     = "any"
	WorkloadsOwn = "Deployment, ReplicaSet, StatefulSet, DaemonSet"
	JobOwns      = "Job"
	NodeOwns     = "Node (static pod)"
	NobodyOwns   = "none"
	OtherOwns    = "another kind"
)

// All are who judges what: each state of a pod, each state of what keeps pods, then
// all other kinds that an API server serves.
func All() []Judgement {
	return slices.Concat(podJudgements(), endedJudgements(), keeperJudgements(), Kinds())
}

func podJudgements() []Judgement {
	judge := []string{"pods", "system-pods"}
	found := func(state string) Judgement {
		return Judgement{Kind: "Pod", Owner: AnyOwner, State: state, Rules: judge}
	}
	left := func(state, why string) Judgement {
		return Judgement{Kind: "Pod", Owner: AnyOwner, State: state, Why: why}
	}
	return []Judgement{
		left("runs and is ready", "it does its work"),
		found("runs, and a probe or a readiness gate says not ready"),
		found("runs, and a container waits: image, configuration, crash loop"),
		found("runs, and a container ended badly"),
		left("runs, one container has done its work, another works (restart policy Never or OnFailure)", "what is left of its work goes on"),
		found("an init container waits or fails"),
		left("its init containers are done", "it does its work"),
		found("a sidecar (init container that restarts) fails while the others work"),
		left("has done its work, and the kubelet stopped its sidecar (exit code 137 or 143)", "it has done its work"),
		left("an ephemeral container failed", "a person looks into the pod: its own containers are judged"),
		found("Pending, not scheduled"),
		left("Pending, held by a scheduling gate", "its owner holds it on purpose (a queue); a workload that lacks the pod is found"),
		found("Pending on its node, its containers are being made"),
		left("Terminating, within its grace period and a minute", "it is on its way out"),
		{Kind: "Pod", Owner: AnyOwner, State: "Terminating for longer, by a finalizer or a silent node", Rules: []string{"terminating"}},
		{Kind: "Pod", Owner: AnyOwner, State: "its node is not Ready", Rules: []string{"nodes-ready"}},
		{Kind: "Pod", Owner: AnyOwner, State: "its node does not exist", Rules: []string{"terminating"}},
	}
}

// endedJudgements are about pods that failed (evicted ones, too), or ended with success and
// should run for good.
func endedJudgements() []Judgement {
	pods, workloads := []string{"pods", "system-pods"}, []string{"workloads", "system-workloads"}
	return []Judgement{
		{Kind: "Pod", Owner: AnyOwner, State: "Succeeded (restart policy Never or OnFailure)", Why: "it has done its work"},
		{Kind: "Pod", Owner: WorkloadsOwn, State: "ended, and not replaced", Rules: workloads},
		{Kind: "Pod", Owner: WorkloadsOwn, State: "ended, and replaced", Why: "its controller has made another"},
		{Kind: "Pod", Owner: JobOwns, State: "failed, and its Job has failed", Rules: []string{"jobs"}},
		{Kind: "Pod", Owner: JobOwns, State: "failed, and its Job tries again or has succeeded", Why: "the Job is judged"},
		{Kind: "Pod", Owner: NodeOwns, State: "ended", Rules: pods},
		{Kind: "Pod", Owner: NobodyOwns, State: "ended", Rules: pods},
		{Kind: "Pod", Owner: OtherOwns, State: "ended, and no newer pod of its owner is well", Rules: pods},
		{Kind: "Pod", Owner: OtherOwns, State: "ended, and a newer pod of its owner is well", Why: "its controller has made another"},
	}
}

// keeperJudgements are about what keeps pods, or namespaces.
func keeperJudgements() []Judgement {
	workloads, jobs, terminating := []string{"workloads", "system-workloads"}, []string{"jobs"}, []string{"terminating"}
	return []Judgement{
		{Kind: "Deployment", Group: "apps", State: "has fewer pods than it wants, or old ones: a rollout, a quota, an admission policy", Rules: workloads},
		{Kind: "Deployment", Group: "apps", State: "paused, and all its pods are available", Why: "somebody holds its rollout"},
		{Kind: "Deployment", Group: "apps", State: "scaled to 0", Why: "it wants no pod"},
		{Kind: "Deployment", Group: "apps", State: "deleted, and still there a minute after its pods' grace period", Rules: terminating},
		{Kind: "Deployment", Group: "apps", State: "deleted a moment ago", Why: "it is on its way out"},
		{Kind: "ReplicaSet", Group: "apps", State: "without a Deployment, has fewer pods than it wants", Rules: workloads},
		{Kind: "ReplicaSet", Group: "apps", State: "of a Deployment", Why: "the Deployment is judged"},
		{Kind: "StatefulSet", Group: "apps", State: "has fewer pods than it wants, or old ones", Rules: workloads},
		{Kind: "StatefulSet", Group: "apps", State: "updated by hand (OnDelete), or up to a partition", Why: "somebody updates it when it suits"},
		{Kind: "DaemonSet", Group: "apps", State: "has no pod on a node where it belongs, or that pod has ended", Rules: workloads},
		{Kind: "DaemonSet", Group: "apps", State: "names one node (nodeName), and has a pod there", Why: "it belongs on no other"},
		{Kind: "Job", Group: "batch", State: "failed: limit of retries, deadline, policy", Rules: jobs},
		{Kind: "Job", Group: "batch", State: "goes on without some indexes, which failed", Rules: jobs},
		{Kind: "Job", Group: "batch", State: "has no pod: a quota or an admission policy", Rules: jobs},
		{Kind: "Job", Group: "batch", State: "does not try again within 12 minutes", Rules: jobs},
		{Kind: "Job", Group: "batch", State: "suspended", Why: "somebody holds it"},
		{Kind: "Job", Group: "batch", State: "failed, and a newer one of its CronJob succeeded", Why: "that is over"},
		{Kind: "Namespace", State: "deleted, and still there a minute after its pods' grace period", Rules: terminating},
		{Kind: "Namespace", State: "deleted a moment ago", Why: "it is on its way out"},
		{Kind: "Node", State: "not Ready, or silent", Rules: []string{"nodes-ready"}},
		{Kind: "Node", State: "cordoned, or out of service", Rules: []string{"nodes-schedulable"}},
		{Kind: "Node", State: "short of memory, disk or process numbers", Rules: []string{"nodes-pressure"}},
	}
}
