package verify

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// fix is what to do about a kind that is not confirmed, by the API server's reason.
func (d *doubt) fix() string {
	resource := sources[d.kind].resource.GroupResource().String()
	get := "kubectl get " + resource
	switch {
	case d.object != "":
		return get + " -o yaml shows it; whoever writes it writes another form than this airgap reads: airgap version on that host"
	case apierrors.IsForbidden(d.reason):
		return fmt.Sprintf("give this user the verbs list and watch on %s: kubectl create clusterrole airgap-reads --verb=list,watch --resource=%s, and bind it", resource, resource)
	case apierrors.IsTooManyRequests(d.reason):
		return "the API server has too much to do: kubectl get --raw /debug/api_priority_and_fairness/dump_priority_levels shows which clients; then run airgap verify again"
	case apierrors.IsNotFound(d.reason):
		return "kubectl api-resources --api-group=" + sources[d.kind].resource.Group + ": is the kind served, in version " + sources[d.kind].resource.Version + "?"
	case apierrors.IsResourceExpired(d.reason), apierrors.IsGone(d.reason):
		return "etcd forgets faster than the list takes: " + get + " --chunk-size=0 shows how long; then run airgap verify again, with a longer --timeout"
	case apierrors.IsInternalError(d.reason), apierrors.IsServiceUnavailable(d.reason):
		return get + " shows the same error; is it the conversion webhook of kubectl get crd " + resource + ", or etcd? kubectl logs of kube-apiserver"
	case d.reason == nil, apierrors.IsTimeout(d.reason), apierrors.IsServerTimeout(d.reason):
		return get + " shows how long the API server takes; then run airgap verify again, with a longer --timeout"
	default:
		return get + " shows the same error; on a control-plane node: crictl logs of kube-apiserver"
	}
}
