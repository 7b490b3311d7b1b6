package verify

import (
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
)

// Snapshot is what two moments of a cluster are compared by, under names that
// outlive single pods.
type Snapshot struct {
	Nodes     map[string]NodeState     `json:"nodes"`
	Workloads map[string]WorkloadState `json:"workloads"` // by "Deployment kube-system/coredns"
	// Containers are those that are to run for good, by
	// "Deployment kube-system/coredns, container coredns".
	Containers map[string]ContainerState `json:"containers"`
}

// NodeState is what an upgrade changes of a node.
type NodeState struct {
	Roles   []string `json:"roles"`
	Kubelet string   `json:"kubelet"`
	Runtime string   `json:"runtime"`
	Kernel  string   `json:"kernel"`
	OS      string   `json:"os"`
	BootID  string   `json:"bootID"` // another one after every start of the host
}

// WorkloadState counts a workload's pods.
type WorkloadState struct {
	Wanted    int32 `json:"wanted"`
	Updated   int32 `json:"updated"`
	Available int32 `json:"available"`
}

// ContainerState is one container of all pods of an owner.
type ContainerState struct {
	Images []string            `json:"images"` // NAME:TAG@DIGEST, where both are known
	Pods   map[string]PodState `json:"pods"`   // by UID; a static pod by its name, which it keeps
}

// PodState is the container in one pod.
type PodState struct {
	Name     string `json:"name"`
	Node     string `json:"node"`
	Restarts int32  `json:"restarts"`
}

func (v view) snapshot() Snapshot {
	return Snapshot{Nodes: v.nodeStates(), Workloads: v.workloadStates(), Containers: v.containerStates()}
}

func (v view) nodeStates() map[string]NodeState {
	states := map[string]NodeState{}
	for _, node := range v.allNodes() {
		i := node.Status.NodeInfo
		state := NodeState{Roles: []string{}, Kubelet: i.KubeletVersion, Runtime: i.ContainerRuntimeVersion, Kernel: i.KernelVersion, OS: i.OSImage, BootID: i.BootID}
		for _, label := range slices.Sorted(maps.Keys(node.Labels)) {
			if role, is := strings.CutPrefix(label, "node-role.kubernetes.io/"); is {
				state.Roles = append(state.Roles, role)
			}
		}
		states[node.Name] = state
	}
	return states
}

func (v view) workloadStates() map[string]WorkloadState {
	states := map[string]WorkloadState{}
	for _, d := range all[*appsv1.DaemonSet](v, daemonSets) {
		states["DaemonSet "+d.Namespace+"/"+d.Name] = WorkloadState{d.Status.DesiredNumberScheduled, d.Status.UpdatedNumberScheduled, d.Status.NumberAvailable}
	}
	for _, d := range all[*appsv1.Deployment](v, deployments) {
		states["Deployment "+d.Namespace+"/"+d.Name] = WorkloadState{wanted(d.Spec.Replicas), d.Status.UpdatedReplicas, d.Status.AvailableReplicas}
	}
	for _, s := range all[*appsv1.StatefulSet](v, statefulSets) {
		states["StatefulSet "+s.Namespace+"/"+s.Name] = WorkloadState{wanted(s.Spec.Replicas), s.Status.UpdatedReplicas, s.Status.AvailableReplicas}
	}
	return states
}

// wanted is how many pods; one where nobody said.
func wanted(replicas *int32) int32 {
	if replicas == nil {
		return 1
	}
	return *replicas
}

func (v view) containerStates() map[string]ContainerState {
	states := map[string]ContainerState{}
	for _, p := range all[*keptPod](v, pods) {
		if !p.lasts {
			continue
		}
		for _, c := range p.containers {
			of := c.of.Value()
			name := p.bearer() + ", container " + of.name
			state, there := states[name]
			if !there {
				state = ContainerState{Images: []string{}, Pods: map[string]PodState{}}
			}
			state.Pods[p.identity] = PodState{p.name, p.node, c.restarts}
			if of.named != "" && !slices.Contains(state.Images, of.named) {
				state.Images = append(state.Images, of.named)
				slices.Sort(state.Images)
			}
			states[name] = state
		}
	}
	return states
}

// bearer is a name for a pod that its successors have too: that of what brings
// it back. Static pods and those of nobody keep their own.
func (p *keptPod) bearer() string {
	from := p.from.Value()
	if from.kind == "" || from.kind == "Node" {
		return p.title("Pod")
	}
	return from.kind + " " + p.namespace + "/" + from.name
}

// lasting is the name of a finding's object by which it is known again, when
// its pod or Job has got a successor. A DaemonSet's pod is told by its node.
func (v view) lasting(object string) string {
	kind, name, _ := strings.Cut(object, " ")
	namespace, name, _ := strings.Cut(name, "/")
	if kind == "Job" {
		if j := get[*keptJob](v, jobs, namespace, name); j != nil && j.cron != "" {
			return "Job of CronJob " + namespace + "/" + j.cron
		}
	}
	if kind != "Pod" {
		return object
	}
	p := get[*keptPod](v, pods, namespace, name)
	if p == nil {
		return object
	}
	switch p.from.Value().kind {
	case "", "Node", "StatefulSet":
		return object
	case "DaemonSet":
		return "Pod of " + p.bearer() + " on " + p.node
	default:
		return "Pod of " + p.bearer()
	}
}
