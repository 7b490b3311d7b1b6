package node

// Where kubeadm has a node's files, before Machine.Root.
const (
	ManifestsDir = "/etc/kubernetes/manifests"
	EtcdDir      = "/var/lib/etcd"
	PKIDir       = "/etc/kubernetes/pki"
	// APIServerDir holds the files that the API server starts with beside its certificates. The
	// static pod mounts the directory, not the files: a file that is replaced would be the old one
	// to a pod that mounted it.
	APIServerDir = "/etc/kubernetes/apiserver"
)
