package verify

import (
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"airgap.dev/airgap/verify/result"
)

func (v view) snapshot() result.Snapshot {
	return result.Snapshot{Nodes: v.nodeStates(), Workloads: v.workloadStates(), Containers: v.containerStates()}
}

func (v view) nodeStates() map[string]result.NodeState {
	states := map[string]result.NodeState{}
	for _, node := range v.allNodes() {
		i := node.Status.NodeInfo
		state := result.NodeState{Roles: []string{}, Kubelet: i.KubeletVersion, Runtime: i.ContainerRuntimeVersion, Kernel: i.KernelVersion, OS: i.OSImage, BootID: i.BootID}
		for _, label := range slices.Sorted(maps.Keys(node.Labels)) {
			if role, is := strings.CutPrefix(label, "node-role.kubernetes.io/"); is {
				state.Roles = append(state.Roles, role)
			}
		}
		states[node.Name] = state
	}
	return states
}

func (v view) workloadStates() map[string]result.WorkloadState {
	states := map[string]result.WorkloadState{}
	for _, d := range all[*appsv1.DaemonSet](v, daemonSets) {
		states["DaemonSet "+d.Namespace+"/"+d.Name] = result.WorkloadState{Wanted: d.Status.DesiredNumberScheduled, Updated: d.Status.UpdatedNumberScheduled, Available: d.Status.NumberAvailable}
	}
	for _, d := range all[*appsv1.Deployment](v, deployments) {
		states["Deployment "+d.Namespace+"/"+d.Name] = result.WorkloadState{Wanted: wanted(d.Spec.Replicas), Updated: d.Status.UpdatedReplicas, Available: d.Status.AvailableReplicas}
	}
	for _, s := range all[*appsv1.StatefulSet](v, statefulSets) {
		states["StatefulSet "+s.Namespace+"/"+s.Name] = result.WorkloadState{Wanted: wanted(s.Spec.Replicas), Updated: s.Status.UpdatedReplicas, Available: s.Status.AvailableReplicas}
	}
	return states
}

// wanted returns the number of pods; the default is one.
func wanted(replicas *int32) int32 {
	if replicas == nil {
		return 1
	}
	return *replicas
}

func (v view) containerStates() map[string]result.ContainerState {
	states := map[string]result.ContainerState{}
	for _, p := range all[*keptPod](v, pods) {
		if !p.permanent {
			continue
		}
		for _, c := range p.containers {
			of := c.of.Value()
			name := p.ownerName() + ", container " + of.name
			state, there := states[name]
			if !there {
				state = result.ContainerState{Images: []string{}, Pods: map[string]result.PodState{}}
			}
			state.Pods[p.identity()] = result.PodState{Name: p.name, Node: p.node, Restarts: c.restarts}
			if of.named != "" && !slices.Contains(state.Images, of.named) {
				state.Images = append(state.Images, of.named)
				slices.Sort(state.Images)
			}
			states[name] = state
		}
	}
	return states
}

// ownerName returns a name that a pod shares with its successors: the name of its controller. Static
// pods and pods without a controller have their own names.
func (p *keptPod) ownerName() string {
	from := p.from.Value()
	if from.kind == "" || from.kind == "Node" {
		return p.title("Pod")
	}
	return from.kind + " " + p.namespace + "/" + from.name
}

// stableName returns a name for the object of a finding that stays the same when a pod or Job gets a
// successor. A pod of a DaemonSet is named by its node.
func (v view) stableName(object string) string {
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
		return "Pod of " + p.ownerName() + " on " + p.node
	default:
		return "Pod of " + p.ownerName()
	}
}
