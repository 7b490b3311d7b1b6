package verify

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"airgap.dev/airgap/verify/nodereport"
)

// kind is a watched resource type.
type kind string

const (
	nodes               kind = "nodes"
	pods                kind = "pods"
	daemonSets          kind = "daemonsets"
	deployments         kind = "deployments"
	statefulSets        kind = "statefulsets"
	replicaSets         kind = "replicasets"
	jobs                kind = "jobs"
	namespaceObjects    kind = "namespaces"
	leases              kind = "leases"
	services            kind = "services"
	endpointSlices      kind = "endpointslices"
	validatingWebhooks  kind = "validatingwebhookconfigurations"
	mutatingWebhooks    kind = "mutatingwebhookconfigurations"
	apiServices         kind = "apiservices"
	clusterRoles        kind = "clusterroles"
	clusterRoleBindings kind = "clusterrolebindings"
	certificateRequests kind = "certificatesigningrequests"
	nodeReports         kind = "nodereports"
	calicoPools         kind = "ippools"
	felixSettings       kind = "felixconfigurations"
)

// source describes where a kind comes from.
type source struct {
	resource   schema.GroupVersionResource
	namespaced bool
	untyped    bool // client-go has no Go type for it
	optional   bool // some clusters do not have the kind; then its rules do not apply
	indexers   cache.Indexers
	only       []string // namespaces that rules read; nil: all
}

// sources has all watched kinds.
var sources = map[kind]source{ //nolint:gochecknoglobals // a table of constants
	nodes:               {resource: builtin("", nodes)},
	pods:                {resource: builtin("", pods), namespaced: true, indexers: podIndexers()},
	daemonSets:          {resource: builtin("apps", daemonSets), namespaced: true},
	deployments:         {resource: builtin("apps", deployments), namespaced: true},
	statefulSets:        {resource: builtin("apps", statefulSets), namespaced: true},
	replicaSets:         {resource: builtin("apps", replicaSets), namespaced: true},
	jobs:                {resource: builtin("batch", jobs), namespaced: true},
	namespaceObjects:    {resource: builtin("", namespaceObjects)},
	leases:              {resource: builtin("coordination.k8s.io", leases), namespaced: true, only: []string{corev1.NamespaceNodeLease, metav1.NamespaceSystem}},
	services:            {resource: builtin("", services), namespaced: true},
	endpointSlices:      {resource: builtin("discovery.k8s.io", endpointSlices), namespaced: true, indexers: sliceIndexers()},
	validatingWebhooks:  {resource: builtin("admissionregistration.k8s.io", validatingWebhooks)},
	mutatingWebhooks:    {resource: builtin("admissionregistration.k8s.io", mutatingWebhooks)},
	apiServices:         {resource: builtin("apiregistration.k8s.io", apiServices), untyped: true},
	clusterRoles:        {resource: builtin("rbac.authorization.k8s.io", clusterRoles)},
	clusterRoleBindings: {resource: builtin("rbac.authorization.k8s.io", clusterRoleBindings)},
	certificateRequests: {resource: builtin("certificates.k8s.io", certificateRequests)},
	nodeReports:         {resource: nodereport.Resource, untyped: true, optional: true},
	calicoPools:         {resource: calico(calicoPools), untyped: true, optional: true},
	felixSettings:       {resource: calico(felixSettings), untyped: true, optional: true},
}

// builtin is a resource of Kubernetes. All watched ones have version v1.
func builtin(group string, k kind) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: "v1", Resource: string(k)}
}

// calico is a resource of Calico, in the API group in which Calico stores it.
func calico(k kind) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "crd.projectcalico.org", Version: "v1", Resource: string(k)}
}
