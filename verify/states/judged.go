// Package states is a table of object states in a cluster. Each has the rules that find it, or the
// reason why no rule does.
package states

import "slices"

// State has the rules for objects of a kind in a state.
type State struct {
	Kind  string `json:"kind"`            // "Pod"
	Group string `json:"group,omitempty"` // API group; "": the core group
	Owner string `json:"owner,omitempty"` // for a pod: kind of its controller
	State string `json:"state,omitempty"` // "": each state without a row
	// Rules find an object in that state, or its owner. If there are two rules with the same task,
	// the second is for the system namespaces.
	Rules []string `json:"rules,omitempty"`
	Why   string   `json:"why,omitempty"` // why no rule finds it
}

// The values of Judgement.Owner.
const (
	AnyOwner     = "any"
	WorkloadsOwn = "Deployment, ReplicaSet, StatefulSet, DaemonSet"
	JobOwns      = "Job"
	NodeOwns     = "Node (static pod)"
	NoOwner      = "none"
	OtherOwns    = "another kind"
)

// All returns the table: each state of a pod, of controllers, namespaces and nodes, then each kind
// that an API server serves.
func All() []State {
	return slices.Concat(podJudgements(), endedJudgements(), controllerJudgements(), Kinds())
}

func podJudgements() []State {
	judge := []string{"pods", "system-pods"}
	found := func(state string) State {
		return State{Kind: "Pod", Owner: AnyOwner, State: state, Rules: judge}
	}
	unjudged := func(state, why string) State {
		return State{Kind: "Pod", Owner: AnyOwner, State: state, Why: why}
	}
	return []State{
		unjudged("running and ready", "it is healthy"),
		found("running, but a probe or a readiness gate reports not ready"),
		found("running, but a container waits: image, configuration, crash loop"),
		found("running, but a container failed"),
		unjudged("running, one container completed, another runs (restart policy Never or OnFailure)", "its other containers continue"),
		found("an init container waits or fails"),
		unjudged("its init containers are complete", "it is healthy"),
		found("a sidecar (init container that restarts) fails while the others run"),
		unjudged("completed, and the kubelet stopped its sidecar (exit code 137 or 143)", "it completed"),
		unjudged("an ephemeral container failed", "an operator debugs the pod; its own containers are judged"),
		found("Pending, not scheduled"),
		unjudged("Pending, held by a scheduling gate", "its owner delays it on purpose (a queue); a rule finds a workload without enough pods"),
		found("Pending on its node, its containers are being created"),
		unjudged("Terminating, within its grace period and a minute", "it is being deleted"),
		{Kind: "Pod", Owner: AnyOwner, State: "Terminating for longer, because of a finalizer or a node that does not answer", Rules: []string{"terminating"}},
		{Kind: "Pod", Owner: AnyOwner, State: "its node is not Ready", Rules: []string{"nodes-ready"}},
		{Kind: "Pod", Owner: AnyOwner, State: "its node does not exist", Rules: []string{"terminating"}},
	}
}

// endedJudgements are about pods that failed or were evicted, and pods that completed but should run
// permanently.
func endedJudgements() []State {
	pods, workloads := []string{"pods", "system-pods"}, []string{"workloads", "system-workloads"}
	return []State{
		{Kind: "Pod", Owner: AnyOwner, State: "Succeeded (restart policy Never or OnFailure)", Why: "it completed"},
		{Kind: "Pod", Owner: WorkloadsOwn, State: "ended, and not replaced", Rules: workloads},
		{Kind: "Pod", Owner: WorkloadsOwn, State: "ended, and replaced", Why: "its controller has created another one"},
		{Kind: "Pod", Owner: JobOwns, State: "failed, and its Job has failed", Rules: []string{"jobs"}},
		{Kind: "Pod", Owner: JobOwns, State: "failed, and its Job retries or has succeeded", Why: "the Job is judged"},
		{Kind: "Pod", Owner: NodeOwns, State: "ended", Rules: pods},
		{Kind: "Pod", Owner: NoOwner, State: "ended", Rules: pods},
		{Kind: "Pod", Owner: OtherOwns, State: "ended, and no newer pod of its owner is healthy", Rules: pods},
		{Kind: "Pod", Owner: OtherOwns, State: "ended, and a newer pod of its owner is healthy", Why: "its controller has created another one"},
	}
}

// controllerJudgements are about controllers of pods, namespaces and nodes.
func controllerJudgements() []State {
	workloads, jobs, terminating := []string{"workloads", "system-workloads"}, []string{"jobs"}, []string{"terminating"}
	return []State{
		{Kind: "Deployment", Group: "apps", State: "has fewer pods than required, or old ones: a rollout, a quota, an admission policy", Rules: workloads},
		{Kind: "Deployment", Group: "apps", State: "paused, and all its pods are available", Why: "an operator paused its rollout"},
		{Kind: "Deployment", Group: "apps", State: "scaled to 0", Why: "it requires no pod"},
		{Kind: "Deployment", Group: "apps", State: "deleted, but still exists a minute after its pods' grace period", Rules: terminating},
		{Kind: "Deployment", Group: "apps", State: "deleted a moment ago", Why: "it is being deleted"},
		{Kind: "ReplicaSet", Group: "apps", State: "without a Deployment, has fewer pods than required", Rules: workloads},
		{Kind: "ReplicaSet", Group: "apps", State: "of a Deployment", Why: "the Deployment is judged"},
		{Kind: "StatefulSet", Group: "apps", State: "has fewer pods than required, or old ones", Rules: workloads},
		{Kind: "StatefulSet", Group: "apps", State: "updated manually (OnDelete), or up to a partition", Why: "an operator updates it"},
		{Kind: "DaemonSet", Group: "apps", State: "has no pod on a node that it selects, or that pod has ended", Rules: workloads},
		{Kind: "DaemonSet", Group: "apps", State: "names one node (nodeName), and has a pod on it", Why: "it selects no other node"},
		{Kind: "Job", Group: "batch", State: "failed: limit of retries, deadline, policy", Rules: jobs},
		{Kind: "Job", Group: "batch", State: "continues without some indexes, which failed", Rules: jobs},
		{Kind: "Job", Group: "batch", State: "has no pod: a quota or an admission policy", Rules: jobs},
		{Kind: "Job", Group: "batch", State: "does not retry within 12 minutes", Rules: jobs},
		{Kind: "Job", Group: "batch", State: "suspended", Why: "an operator suspended it"},
		{Kind: "Job", Group: "batch", State: "failed, and a newer one of its CronJob succeeded", Why: "the newer Job succeeded"},
		{Kind: "Namespace", State: "deleted, but still exists a minute after its pods' grace period", Rules: terminating},
		{Kind: "Namespace", State: "deleted a moment ago", Why: "it is being deleted"},
		{Kind: "Node", State: "not Ready, or without a heartbeat", Rules: []string{"nodes-ready"}},
		{Kind: "Node", State: "cordoned, or out of service", Rules: []string{"nodes-schedulable"}},
		{Kind: "Node", State: "under memory, disk or PID pressure", Rules: []string{"nodes-pressure"}},
	}
}
