package node

// Part is what a Control is about.
type Part string

const APIServer Part = "kube-apiserver"

const ControllerManager Part = "kube-controller-manager"

const Scheduler Part = "kube-scheduler"

const Etcd Part = "etcd"

const Kubelet Part = "kubelet"
