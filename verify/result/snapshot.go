package result

// Snapshot is the state of a cluster for comparisons, by names that do not change when a pod is
// replaced.
type Snapshot struct {
	Nodes     map[string]NodeState     `json:"nodes"`
	Workloads map[string]WorkloadState `json:"workloads"` // by "Deployment kube-system/coredns"
	// Containers are those that must run permanently, by "Deployment kube-system/coredns, container
	// coredns".
	Containers map[string]ContainerState `json:"containers"`
}

// NodeState has the properties of a node that an upgrade changes.
type NodeState struct {
	Roles   []string `json:"roles"`
	Kubelet string   `json:"kubelet"`
	Runtime string   `json:"runtime"`
	Kernel  string   `json:"kernel"`
	OS      string   `json:"os"`
	BootID  string   `json:"bootID"` // changes at each boot of the host
}

// WorkloadState counts a workload's pods.
type WorkloadState struct {
	Wanted    int32 `json:"wanted"`
	Updated   int32 `json:"updated"`
	Available int32 `json:"available"`
}

// ContainerState is one container of all pods of an owner.
type ContainerState struct {
	Images []string            `json:"images"` // NAME:TAG@DIGEST, if both are known
	Pods   map[string]PodState `json:"pods"`   // by UID; a static pod by its name, which does not change
}

// PodState is the container in one pod.
type PodState struct {
	Name     string `json:"name"`
	Node     string `json:"node"`
	Restarts int32  `json:"restarts"`
}
