package verify

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// seen returns a view of exactly these objects, trimmed like in the informers. The cluster has every
// kind.
func seen(t *testing.T, objects ...metav1.Object) view {
	t.Helper()
	v := view{now: time.Now(), caches: map[kind][]cache.Indexer{}, heartbeats: newHeartbeats(), server: "v1.36.3"}
	for k, s := range sources {
		indexers := maps.Clone(s.indexers)
		if indexers == nil {
			indexers = cache.Indexers{}
		}
		indexers[cache.NamespaceIndex] = cache.MetaNamespaceIndexFunc
		v.caches[k] = []cache.Indexer{cache.NewIndexer(cache.MetaNamespaceKeyFunc, indexers)}
	}
	for _, object := range objects {
		v.put(t, object)
	}
	return v
}

// put adds or changes an object. For a host with a report, it adds a heartbeat of the Lease.
func (v view) put(t *testing.T, object metav1.Object) {
	t.Helper()
	k := kindOf(t, object)
	trimmed, err := trim(object)
	if err != nil {
		t.Fatal(err)
	}
	if _, is := trimmed.(runtime.Object); !is {
		t.Fatalf("the mutation detector does not check a %T: add a DeepCopyObject to mutation_test.go", trimmed)
	}
	if _, known := v.heartbeats.last(leaseOf(object.GetName())); k == nodeReports && !known {
		v.heartbeats.take(leaseOf(object.GetName()), v.now, v.now, v.now) // the clock is right
	}
	if err := v.caches[k][0].Add(trimmed); err != nil {
		t.Fatal(err)
	}
}

func kindOf(t *testing.T, object metav1.Object) kind {
	t.Helper()
	switch o := object.(type) {
	case *corev1.Node:
		return nodes
	case *corev1.Pod:
		return pods
	case *appsv1.DaemonSet:
		return daemonSets
	case *appsv1.Deployment:
		return deployments
	case *appsv1.StatefulSet:
		return statefulSets
	case *appsv1.ReplicaSet:
		return replicaSets
	case *batchv1.Job:
		return jobs
	case *corev1.Namespace:
		return namespaceObjects
	case *coordinationv1.Lease:
		return leases
	case *corev1.Service:
		return services
	case *discoveryv1.EndpointSlice:
		return endpointSlices
	case *admissionv1.ValidatingWebhookConfiguration:
		return validatingWebhooks
	case *admissionv1.MutatingWebhookConfiguration:
		return mutatingWebhooks
	case *rbacv1.ClusterRoleBinding:
		return clusterRoleBindings
	case *rbacv1.ClusterRole:
		return clusterRoles
	case *certificatesv1.CertificateSigningRequest:
		return certificateRequests
	case *unstructured.Unstructured:
		return kind(strings.ToLower(o.GetKind()) + "s")
	}
	t.Fatalf("no kind for %T", object)
	return ""
}

// wantSaw compares the objects and reasons of findings, in any order.
func wantSaw(t *testing.T, got []Finding, want ...Finding) {
	t.Helper()
	byObject := func(a, b Finding) int { return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.Saw, b.Saw)) }
	slices.SortFunc(got, byObject)
	slices.SortFunc(want, byObject)
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("not found: %s: %s", want[i].Object, want[i].Saw)
		case i >= len(want):
			t.Errorf("found: %s: %s", got[i].Object, got[i].Saw)
		case got[i].Object != want[i].Object || got[i].Saw != want[i].Saw:
			t.Errorf("found\n  %s: %s\nwant\n  %s: %s", got[i].Object, got[i].Saw, want[i].Object, want[i].Saw)
		case got[i].Want == "":
			t.Errorf("%s: Want is empty", got[i].Object)
		}
	}
}

func node(name string, ready corev1.ConditionStatus, changes ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelOSStable: "linux"}}}
	c := corev1.NodeCondition{Type: corev1.NodeReady, Status: ready, Reason: "KubeletReady"}
	switch ready {
	case corev1.ConditionFalse:
		c.Reason, c.Message = "KubeletNotReady", "cni plugin not initialized"
	case corev1.ConditionUnknown:
		c.Reason, c.Message = "NodeStatusUnknown", "Kubelet stopped posting node status."
	}
	n.Status.NodeInfo.KubeletVersion = "v1.35.0"
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse}, c}
	for _, change := range changes {
		change(n)
	}
	return n
}

func controlPlaneNode(n *corev1.Node) { n.Labels[controlPlaneLabel] = "" }

func tainted(key string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
	}
}

const proxyImage = "registry.k8s.io/kube-proxy@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

// pod returns a healthy pod.
func pod(namespace, name, on string, changes ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.PodSpec{NodeName: on},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning,
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
				{Type: corev1.PodReady, Status: corev1.ConditionTrue},
			},
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: "main", Image: "registry.k8s.io/kube-proxy:v1", ImageID: proxyImage, Ready: true,
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
			}},
		},
	}
	for _, change := range changes {
		change(p)
	}
	return p
}

func ownedBy(uid string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		yes := true
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: uid, UID: types.UID(uid), Controller: &yes}}
	}
}

func unready(reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions[1] = corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: reason, Message: message}
	}
}

func waiting(reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		unready("ContainersNotReady", "")(p)
		p.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	}
}

func imageID(id string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.ContainerStatuses[0].ImageID = id }
}

// daemonSet returns a DaemonSet with a complete status.
func daemonSet(name string, pods int32, changes ...func(*appsv1.DaemonSet)) *appsv1.DaemonSet {
	d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name, UID: types.UID(name), Generation: 1}}
	d.Status = appsv1.DaemonSetStatus{
		ObservedGeneration: 1, DesiredNumberScheduled: pods, CurrentNumberScheduled: pods,
		UpdatedNumberScheduled: pods, NumberAvailable: pods, NumberReady: pods,
	}
	for _, change := range changes {
		change(d)
	}
	return d
}

// deployment returns a Deployment with two available pods.
func deployment(name string, changes ...func(*appsv1.Deployment)) *appsv1.Deployment {
	pods := int32(2)
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name, Generation: 1},
		Spec:       appsv1.DeploymentSpec{Replicas: &pods},
		Status: appsv1.DeploymentStatus{
			ObservedGeneration: 1, Replicas: pods, UpdatedReplicas: pods, ReadyReplicas: pods, AvailableReplicas: pods,
		},
	}
	for _, change := range changes {
		change(d)
	}
	return d
}

// lease returns a Lease with a duration of an hour.
func lease(namespace, name string, renewed time.Time) *coordinationv1.Lease {
	seconds := int32(3600)
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: &seconds, RenewTime: &metav1.MicroTime{Time: renewed}},
	}
}

func dnsService() *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-dns"}}
}

// endpoints returns the only endpoint of the CoreDNS Service.
func endpoints(ready bool) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "kube-dns-x", Labels: map[string]string{discoveryv1.LabelServiceName: "kube-dns"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.244.0.2"}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}}},
	}
}
