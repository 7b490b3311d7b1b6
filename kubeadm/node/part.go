package node

// Part is a program of Kubernetes on a node.
type Part string

// The parts: four static pods, and the kubelet.
const (
	APIServer         Part = "kube-apiserver"
	ControllerManager Part = "kube-controller-manager"
	Scheduler         Part = "kube-scheduler"
	Etcd              Part = "etcd"
	Kubelet           Part = "kubelet"
)

// StaticPods are the parts that kubeadm runs as static pods. A site may set arguments for each of them.
func StaticPods() []Part { return []Part{APIServer, ControllerManager, Scheduler, Etcd} }
