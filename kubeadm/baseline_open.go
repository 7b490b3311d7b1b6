package kubeadm

// Exception is a recommendation of the Benchmark that the baseline does not follow.
type Exception struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Why   string `json:"why"`
	How   string `json:"how,omitempty"` // setting with which a site can follow it; "" for none
}

// Exceptions returns the recommendations that a cluster does not follow unless the site
// configures it.
func Exceptions() []Exception {
	return []Exception{
		{"1.1.9", "Mode 0600 for /var/lib/cni/networks", "the plugin host-local sets the mode of these files; each contains only the ID of a container", ""},
		{"1.1.12", "etcd's data belongs to etcd:etcd", "kubeadm runs etcd as root in its pod, and the host has no such user; only root can enter the directory", ""},
		{"1.2.1", "--anonymous-auth=false", "a host that joins with a token has no credentials yet, and probes have none; the API server refuses all their other requests (authentication-config, above)", ""},
		{"1.2.3", "DenyServiceExternalIPs", "clusters outside a cloud may need externalIPs to be reachable", "kubernetes.overrides.clusterConfiguration.apiServer.extraArgs: enable-admission-plugins=DenyServiceExternalIPs (airgap adds NodeRestriction)"},
		{"1.2.5", "--kubelet-certificate-authority", "kubelets sign their serving certificates themselves; otherwise an administrator must approve each request at each renewal, and automatic approval proves no identity", ""},
		{"1.2.9", "EventRateLimit", "its limits discard events during a problem, when they are needed most; etcd deletes events after an hour", ""},
		{"1.2.11", "AlwaysPullImages", "no pod could start while the registry is down, for example after a power failure; every node can pull every image anyway", ""},
		{"1.2.20", "--request-timeout", "the default of 60 s is appropriate", ""},
		{"2.7", "An etcd CA outside of the cluster's hosts", "kubeadm creates it on the first host; only root can read its key", ""},
		{"3.1.1, 3.1.2", "No client certificates, no tokens of service accounts for people", "users belong in the site's directory: configure its OIDC issuer in the API server", "kubernetes.authentication.jwt"},
		{"4.2.7", "--hostname-override is not set", "kubeadm sets it when a node's name in airgap.yaml differs from the host name", ""},
		{"4.2.8", "eventRecordQPS", "the default of 50 per second loses no event of a healthy node; 0 (no limit) lets an unhealthy node flood the API server", "kubernetes.overrides.kubelet.eventRecordQPS"},
		{"4.2.9, 4.2.11", "Serving certificates of kubelets from the cluster's CA", "as 1.2.5", ""},
		{"5", "Policies: roles, pod security, network policies, Secrets as files", "they depend on the site's workloads, not on the installation; Pod Security admission is on, and namespaces can use its labels", ""},
	}
}
