package result

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
