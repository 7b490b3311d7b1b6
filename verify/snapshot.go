package verify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	all := map[string]NodeState{}
	for _, node := range v.allNodes() {
		i := node.Status.NodeInfo
		state := NodeState{Roles: []string{}, Kubelet: i.KubeletVersion, Runtime: i.ContainerRuntimeVersion, Kernel: i.KernelVersion, OS: i.OSImage, BootID: i.BootID}
		for _, label := range slices.Sorted(maps.Keys(node.Labels)) {
			if role, is := strings.CutPrefix(label, "node-role.kubernetes.io/"); is {
				state.Roles = append(state.Roles, role)
			}
		}
		all[node.Name] = state
	}
	return all
}

func (v view) workloadStates() map[string]WorkloadState {
	all := map[string]WorkloadState{}
	for _, d := range v.daemonSetsIn("") {
		all["DaemonSet "+d.Namespace+"/"+d.Name] = WorkloadState{d.Status.DesiredNumberScheduled, d.Status.UpdatedNumberScheduled, d.Status.NumberAvailable}
	}
	for _, d := range v.deploymentsIn("") {
		wanted := int32(1)
		if d.Spec.Replicas != nil {
			wanted = *d.Spec.Replicas
		}
		all["Deployment "+d.Namespace+"/"+d.Name] = WorkloadState{wanted, d.Status.UpdatedReplicas, d.Status.AvailableReplicas}
	}
	return all
}

func (v view) containerStates() map[string]ContainerState {
	all := map[string]ContainerState{}
	for _, pod := range v.podsIn("") {
		if !lasts(pod) {
			continue
		}
		key := string(pod.UID)
		if owner := metav1.GetControllerOf(pod); owner != nil && owner.Kind == "Node" {
			key = pod.Name
		}
		for _, s := range statuses(pod) {
			name := ownerName(pod) + ", container " + s.Name
			state, there := all[name]
			if !there {
				state = ContainerState{Images: []string{}, Pods: map[string]PodState{}}
			}
			state.Pods[key] = PodState{pod.Name, pod.Spec.NodeName, s.RestartCount}
			if image := imageName(s); image != "" && !slices.Contains(state.Images, image) {
				state.Images = append(state.Images, image)
				slices.Sort(state.Images)
			}
			all[name] = state
		}
	}
	return all
}

// lasts says that a pod is there to run for good, and is not on its way out.
func lasts(pod *corev1.Pod) bool {
	switch {
	case pod.DeletionTimestamp != nil, pod.Spec.RestartPolicy == corev1.RestartPolicyNever, pod.Spec.RestartPolicy == corev1.RestartPolicyOnFailure:
		return false
	default:
		return pod.Status.Phase == corev1.PodRunning || pod.Status.Phase == corev1.PodPending
	}
}

func imageName(s corev1.ContainerStatus) string {
	_, digest, known := strings.Cut(s.ImageID, "@")
	if !known || strings.Contains(s.Image, "@") {
		return cmp.Or(s.Image, s.ImageID)
	}
	return s.Image + "@" + digest
}

// ownerName is a name for a pod that its successors have too: that of what
// brings it back. Static pods and those of nobody keep their own.
func ownerName(pod *corev1.Pod) string {
	owner := metav1.GetControllerOf(pod)
	if owner == nil || owner.Kind == "Node" {
		return "Pod " + pod.Namespace + "/" + pod.Name
	}
	kind, name := owner.Kind, owner.Name
	if hash := pod.Labels["pod-template-hash"]; kind == "ReplicaSet" && hash != "" {
		kind, name = "Deployment", strings.TrimSuffix(name, "-"+hash)
	}
	return kind + " " + pod.Namespace + "/" + name
}

// lasting is the name of a finding's object by which it is known again, when
// its pod has got a successor. A DaemonSet's is told by its node.
func (v view) lasting(object string) string {
	name, isPod := strings.CutPrefix(object, "Pod ")
	namespace, name, _ := strings.Cut(name, "/")
	if !isPod {
		return object
	}
	pod, err := v.pods.Pods(namespace).Get(name)
	if err != nil {
		return object // the only error of an index: not there
	}
	owner := metav1.GetControllerOf(pod)
	switch {
	case owner == nil || owner.Kind == "Node" || owner.Kind == "StatefulSet":
		return object
	case owner.Kind == "DaemonSet":
		return "Pod of " + ownerName(pod) + " on " + pod.Spec.NodeName
	default:
		return "Pod of " + ownerName(pod)
	}
}

// incident is something that happened to an object.
type incident struct {
	object string
	at     time.Time
	saw    string
	fix    string
}

// incidents are what is still to be seen of what went wrong after since.
func (v view) incidents(since time.Time) []incident {
	var all []incident
	for _, node := range v.allNodes() {
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady && c.LastTransitionTime.After(since) && node.CreationTimestamp.Time.Before(since) {
				all = append(all, incident{"Node " + node.Name, c.LastTransitionTime.Time, "its Ready turned " + string(c.Status) + ": " + because(c.Reason, c.Message),
					fmt.Sprintf("on %s: journalctl -u kubelet --since '%s'", node.Name, c.LastTransitionTime.UTC().Add(-time.Minute).Format("2006-01-02 15:04:05 UTC"))})
			}
		}
	}
	for _, pod := range v.podsIn("") {
		all = append(all, podIncidents(pod, since)...)
	}
	return all
}

func podIncidents(pod *corev1.Pod, since time.Time) []incident {
	object := "Pod " + pod.Namespace + "/" + pod.Name
	if pod.Status.Phase == corev1.PodFailed && pod.Status.Reason == "Evicted" {
		at := pod.CreationTimestamp.Time
		for _, c := range pod.Status.Conditions {
			at = latest(at, c.LastTransitionTime.Time)
		}
		if !at.After(since) {
			return nil
		}
		return []incident{{object, at, "evicted from " + pod.Spec.NodeName + ": " + because("", pod.Status.Message), "kubectl describe node " + pod.Spec.NodeName}}
	}
	var all []incident
	for _, s := range statuses(pod) {
		if at, saw := ending(s, since); saw != "" {
			all = append(all, incident{object, at, "container " + s.Name + ": " + saw,
				fmt.Sprintf("kubectl -n %s logs %s -c %s --previous", pod.Namespace, pod.Name, s.Name)})
		}
	}
	return all
}

// ending says how a container ended after since: badly, or so that it had to
// be started again.
func ending(s corev1.ContainerStatus, since time.Time) (at time.Time, saw string) {
	if t := s.State.Terminated; t != nil && t.ExitCode != 0 && t.FinishedAt.After(since) {
		return t.FinishedAt.Time, ended(t)
	}
	if t := s.LastTerminationState.Terminated; t != nil && t.FinishedAt.After(since) {
		return t.FinishedAt.Time, fmt.Sprintf("%s; started again, restarts: %d", ended(t), s.RestartCount)
	}
	return time.Time{}, ""
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
