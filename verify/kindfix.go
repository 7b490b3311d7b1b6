package verify

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// fix returns the advice for a kind that is not confirmed, by the error of the API server.
func (d *doubt) fix() string {
	resource := sources[d.kind].resource.GroupResource().String()
	get := "kubectl get " + resource
	switch {
	case d.object != "":
		return "inspect it: " + get + " -o yaml; its format is not the one that this version of airgap reads; on the host that writes it: airgap version"
	case apierrors.IsForbidden(d.reason):
		return fmt.Sprintf("give this user the verbs list and watch on %s: kubectl create clusterrole airgap-reads --verb=list,watch --resource=%s, and bind it to the user", resource, resource)
	case apierrors.IsTooManyRequests(d.reason):
		return "the API server is overloaded; find the clients: kubectl get --raw /debug/api_priority_and_fairness/dump_priority_levels; then run airgap verify again"
	case apierrors.IsNotFound(d.reason):
		return "check that the API server serves the kind in version " + sources[d.kind].resource.Version + ": kubectl api-resources --api-group=" + sources[d.kind].resource.Group
	case apierrors.IsResourceExpired(d.reason), apierrors.IsGone(d.reason):
		return "etcd compacts its history before the list is complete; measure the list: time " + get + " --chunk-size=0; then run airgap verify again with a longer --timeout"
	case apierrors.IsInternalError(d.reason), apierrors.IsServiceUnavailable(d.reason):
		return get + " shows the same error; check the conversion webhook of kubectl get crd " + resource + ", etcd, and the log of kube-apiserver (kubectl logs)"
	case d.reason == nil, apierrors.IsTimeout(d.reason), apierrors.IsServerTimeout(d.reason):
		return get + " shows how long the API server takes; then run airgap verify again with a longer --timeout"
	default:
		return get + " shows the same error; on a control-plane node, read the log of kube-apiserver: crictl logs CONTAINER"
	}
}
