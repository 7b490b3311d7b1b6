package states

import (
	"cmp"
	"slices"
)

// Kinds returns a row for each kind that an API server of Kubernetes serves, and for the kinds of
// other projects that verify watches, sorted by group and kind.
func Kinds() []State {
	list := slices.Concat(judgedKinds(), unjudgedKinds())
	slices.SortFunc(list, func(a, b State) int { return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind)) })
	return list
}

func judgedKinds() []State {
	hosts := []string{
		"node-reports", "etcd", "certificates", "time-sync", "no-ipip", "pod-network-mtu", "kube-proxy-mode", "units", "programs", "cgroups",
		"sysctls", "host-network", "host-links", "next-boot", "packages", "pinned-images", "registry-reach", "gpus",
	}
	workloads := []string{"workloads", "system-workloads", "terminating"}
	return []State{
		{Kind: "Pod", Rules: []string{"pods", "system-pods", "control-plane", "data-plane", "images", "kubelet-versions", "terminating"}},
		{Kind: "Node", Rules: []string{"nodes-ready", "nodes-pressure", "nodes-schedulable", "node-leases", "kubelet-versions", "terminating"}},
		{Kind: "Namespace", Rules: []string{"terminating"}},
		{Kind: "Deployment", Group: "apps", Rules: workloads},
		{Kind: "StatefulSet", Group: "apps", Rules: workloads},
		{Kind: "DaemonSet", Group: "apps", Rules: workloads},
		{Kind: "ReplicaSet", Group: "apps", Rules: workloads},
		{Kind: "Job", Group: "batch", Rules: []string{"jobs", "terminating"}},
		{Kind: "Lease", Group: "coordination.k8s.io", Rules: []string{"node-leases", "leaders", "clocks"}},
		{Kind: "Service", Rules: []string{"dns", "webhooks"}},
		{Kind: "EndpointSlice", Group: "discovery.k8s.io", Rules: []string{"dns", "webhooks"}},
		{Kind: "ValidatingWebhookConfiguration", Group: "admissionregistration.k8s.io", Rules: []string{"webhooks"}},
		{Kind: "MutatingWebhookConfiguration", Group: "admissionregistration.k8s.io", Rules: []string{"webhooks"}},
		{Kind: "APIService", Group: "apiregistration.k8s.io", Rules: []string{"api-services"}},
		{Kind: "ClusterRole", Group: "rbac.authorization.k8s.io", Rules: []string{"join-tokens"}},
		{Kind: "ClusterRoleBinding", Group: "rbac.authorization.k8s.io", Rules: []string{"join-tokens"}},
		{Kind: "CertificateSigningRequest", Group: "certificates.k8s.io", Rules: []string{"join-tokens"}},
		{Kind: "NodeReport", Group: "airgap.dev", Rules: hosts},
		{Kind: "IPPool", Group: "crd.projectcalico.org", Rules: []string{"no-ipip"}},
		{Kind: "FelixConfiguration", Group: "crd.projectcalico.org", Rules: []string{"no-ipip"}},
	}
}

// unjudgedKinds returns the kinds without a rule, with the reasons.
func unjudgedKinds() []State {
	const (
		settings = "it is configuration without a state"
		inPods   = "if it fails, a pod waits for it, and a rule finds that pod"
		answers  = "it is an answer of the API server and is not stored"
		inOwner  = "its owner is judged"
		inEffect = "it changes other objects, and these are judged"
		moments  = "it is about a point in time; rules judge lasting faults where they occur"
	)
	var list []State
	none := func(why, group string, kinds ...string) {
		for _, kind := range kinds {
			list = append(list, State{Kind: kind, Group: group, Why: why})
		}
	}
	none(settings, "", "ConfigMap", "Secret", "ServiceAccount", "LimitRange", "PodTemplate")
	none("if it refuses a pod, a rule finds the workload or Job without that pod", "", "ResourceQuota")
	none(inPods, "", "PersistentVolume", "PersistentVolumeClaim")
	none("its pods are judged; use a Deployment, which is also judged without pods", "", "ReplicationController")
	none("EndpointSlices are judged", "", "Endpoints")
	none(moments, "", "Event")
	none("rules judge the components directly", "", "ComponentStatus")
	none(answers, "", "Binding")
	none(moments, "events.k8s.io", "Event")
	none(inOwner, "apps", "ControllerRevision")
	none("its Jobs are judged; only events report a Job that it could not create", "batch", "CronJob")
	none(inEffect, "autoscaling", "HorizontalPodAutoscaler")
	none("if it blocks a drain, the drain reports it", "policy", "PodDisruptionBudget")
	none(settings, "networking.k8s.io", "Ingress", "IngressClass", "NetworkPolicy", "IPAddress", "ServiceCIDR")
	none(settings, "rbac.authorization.k8s.io", "Role", "RoleBinding")
	none(settings, "scheduling.k8s.io", "PriorityClass")
	none(inPods, "scheduling.k8s.io", "Workload", "PodGroup")
	none(settings, "node.k8s.io", "RuntimeClass")
	none(settings, "storage.k8s.io", "StorageClass", "CSIDriver", "VolumeAttributesClass")
	none(inPods, "storage.k8s.io", "CSINode", "VolumeAttachment", "CSIStorageCapacity")
	none(inPods, "resource.k8s.io", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice", "DeviceClass", "DeviceTaintRule", "ResourcePoolStatusRequest")
	none(settings, "admissionregistration.k8s.io", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding")
	none(settings, "flowcontrol.apiserver.k8s.io", "FlowSchema", "PriorityLevelConfiguration")
	none(inPods, "certificates.k8s.io", "ClusterTrustBundle", "PodCertificateRequest")
	none("leaders are judged by their Lease", "coordination.k8s.io", "LeaseCandidate")
	none("it is internal to the API server, which reports its own readiness", "internal.apiserver.k8s.io", "StorageVersion")
	none("it rewrites stored objects, which stay valid until then", "storagemigration.k8s.io", "StorageVersionMigration")
	none("its objects are judged by the rules of their kind, or only by their operator", "apiextensions.k8s.io", "CustomResourceDefinition")
	none(answers, "authentication.k8s.io", "TokenReview", "SelfSubjectReview")
	none(answers, "authorization.k8s.io", "SubjectAccessReview", "SelfSubjectAccessReview", "SelfSubjectRulesReview", "LocalSubjectAccessReview")
	none("only its operator knows the meaning of its status; pods, Jobs and workloads that it creates are judged", "of an operator", "any other kind")
	return list
}
