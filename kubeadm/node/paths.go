package node

// Where kubeadm has a node's files, before Machine.Root.
const (
	ManifestsDir = "/etc/kubernetes/manifests"
	EtcdDir      = "/var/lib/etcd"
	PKIDir       = "/etc/kubernetes/pki"
	PatchesDir   = "/etc/airgap/kubeadm-patches" // kubeadm's patches for this host
	// APIServerDir holds the files of the API server other than its certificates. The
	// static pod mounts the directory, not the files: a pod with a mounted file would keep the
	// old content after a replacement.
	APIServerDir = "/etc/kubernetes/apiserver"
)
