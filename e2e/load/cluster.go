package load

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

const (
	controlPlaneNodes = 3
	replicas          = 30 // pods of an application, at most
)

// count adds an object of size bytes.
func (w *Written) count(object runtime.Object, size int) {
	w.Objects++
	if _, is := object.(*corev1.Pod); is {
		w.Pods++
		w.Bytes += int64(size)
	}
}

// objects returns all objects of the cluster, each with its key in etcd.
func (c Cluster) objects() iter.Seq2[string, runtime.Object] {
	return func(yield func(string, runtime.Object) bool) {
		_ = c.system(yield) && c.nodes(yield) && c.applications(yield) // false: the caller needs no further objects
	}
}

type yield = func(string, runtime.Object) bool

// system yields the namespaces and the system's workloads, without the pods that each node has.
func (c Cluster) system(yield yield) bool {
	for _, name := range []string{"kube-flannel", "airgap-system", "kube-node-lease", "shop"} {
		if !yield("namespaces/"+name, namespace(name)) {
			return false
		}
	}
	for _, d := range daemons() {
		if !yield("daemonsets/"+d.namespace+"/"+d.name, d.daemonSet(c.Nodes)) {
			return false
		}
	}
	for _, component := range []string{"kube-scheduler", "kube-controller-manager"} {
		if !yield("leases/kube-system/"+component, lease(metav1.NamespaceSystem, component, nodeName(0))) {
			return false
		}
	}
	return yield("services/specs/kube-system/kube-dns", dnsService()) && yield("endpointslices/kube-system/kube-dns-x", dnsEndpoints()) && c.replicated(coreDNS(), yield)
}

// nodes yields all nodes with their leases, static pods and pods of DaemonSets.
func (c Cluster) nodes(yield yield) bool {
	static, everywhere := c.makers(controlPlane()), c.makers(daemons())
	for i := range c.Nodes {
		on := nodeName(i)
		ok := yield("minions/"+on, c.node(i)) && yield("leases/kube-node-lease/"+on, nodeLease(on))
		if i < controlPlaneNodes {
			for _, pod := range static {
				ok = ok && putPod(pod(on, i), yield)
			}
		}
		for _, pod := range everywhere {
			ok = ok && putPod(pod(on, i), yield)
		}
		if !ok {
			return false
		}
	}
	return true
}

// applications yields applications until the cluster has c.Pods pods.
func (c Cluster) applications(yield yield) bool {
	left := c.Pods - c.Nodes*len(daemons()) - min(c.Nodes, controlPlaneNodes)*len(controlPlane()) - coreDNS().replicas
	for i := 0; left > 0; i++ {
		app := application(i, min(left, replicas))
		if !c.replicated(app, yield) {
			return false
		}
		left -= app.replicas
	}
	return true
}

// replicated yields a Deployment, its ReplicaSet and its pods.
func (c Cluster) replicated(w workload, yield yield) bool {
	ok := yield("deployments/"+w.namespace+"/"+w.name, w.deployment()) &&
		yield("replicasets/"+w.namespace+"/"+w.replicaSetName(), w.replicaSet())
	pod := w.pods(c.Images)
	for i := 0; ok && i < w.replicas; i++ {
		on := (w.number*replicas + i) % c.Nodes
		ok = putPod(pod(nodeName(on), i), yield)
	}
	return ok
}

// makers returns a function for each workload that creates its pods.
func (c Cluster) makers(of []workload) (all []func(string, int) *corev1.Pod) {
	for _, w := range of {
		all = append(all, w.pods(c.Images))
	}
	return all
}

func putPod(p *corev1.Pod, yield yield) bool {
	return yield("pods/"+p.Namespace+"/"+p.Name, p)
}

func nodeName(i int) string { return fmt.Sprintf("worker-%04d.bank.example", i) }

// sum returns 64 hexadecimal digits for a name. Different names have different digits,
// and each run gets the same ones.
func sum(name string) string {
	s := sha256.Sum256([]byte(name))
	return hex.EncodeToString(s[:])
}

func uid(name string) types.UID {
	s := sum(name)
	return types.UID(s[:8] + "-" + s[8:12] + "-4" + s[13:16] + "-a" + s[17:20] + "-" + s[20:32])
}

// born is the creation time of all objects, in the past.
func born() metav1.Time { return metav1.NewTime(time.Date(2026, 10, 1, 6, 30, 0, 0, time.UTC)) }

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid("namespace " + name), CreationTimestamp: born(), Labels: map[string]string{corev1.LabelMetadataName: name}},
		Spec:       corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{corev1.FinalizerKubernetes}},
		Status:     corev1.NamespaceStatus{Phase: corev1.NamespaceActive},
	}
}
