package kubeadm

// Open is a recommendation of the Benchmark that the baseline does not follow.
type Open struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Why   string `json:"why"`
	How   string `json:"how,omitempty"` // how a site that wants it gets it
}

// LeftOpen are the recommendations that a cluster does not follow unless its
// site sees to it.
func LeftOpen() []Open {
	return []Open{
		{"1.1.9", "Mode 0600 for /var/lib/cni/networks", "the plugin host-local writes a file for each pod's address as it likes; each holds the id of a container", ""},
		{"1.1.12", "etcd's data belongs to etcd:etcd", "kubeadm runs etcd as root in its pod, and no such user is on the host; nobody but root can enter the directory", ""},
		{"1.2.1", "--anonymous-auth=false", "a host that joins by a one-time code has no credentials yet, nor has a probe; all else is refused to them (authentication-config, above)", ""},
		{"1.2.3", "DenyServiceExternalIPs", "clusters without a cloud use externalIPs to be reached at all", "kubernetes.overrides.clusterConfiguration.apiServer.extraArgs: enable-admission-plugins=DenyServiceExternalIPs, to which NodeRestriction is added"},
		{"1.2.5", "--kubelet-certificate-authority", "kubelets sign their serving certificates themselves; else somebody would have to approve each, at each renewal, and a request that is approved unseen proves nothing", ""},
		{"1.2.9", "EventRateLimit", "its limits throw events away when there is trouble, which is when they are needed; the API server has etcd delete events after an hour", ""},
		{"1.2.11", "AlwaysPullImages", "no pod would start while the registry is away, nor after a power cut before it is back; the registry gives every image to every node anyway", ""},
		{"1.2.20", "--request-timeout", "the default of 60 s is appropriate", ""},
		{"2.7", "An etcd CA outside of the cluster's hosts", "kubeadm makes it on the first host; its key is root's alone", ""},
		{"3.1.1, 3.1.2", "No client certificates, no tokens of service accounts for people", "who people are is the site's directory's business: give the API server its OIDC issuer", "kubernetes.authentication.jwt"},
		{"4.2.7", "--hostname-override is not set", "kubeadm sets it where a node's name in airgap.yaml is not the host's own", ""},
		{"4.2.8", "eventRecordQPS", "the default of 50 a second loses no event of a healthy node, and 0, without limit, lets a sick one flood the API server", "kubernetes.overrides.kubelet.eventRecordQPS"},
		{"4.2.9, 4.2.11", "Serving certificates of kubelets from the cluster's CA", "as 1.2.5", ""},
		{"5", "Policies: roles, pod security, network policies, Secrets as files", "they are about what a site runs, not about how the cluster is made; namespaces take the labels of Pod Security admission, which is on", ""},
	}
}
