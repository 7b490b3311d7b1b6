package verify

import (
	"context"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/verify/apitest"
	"airgap.dev/airgap/verify/result"
)

// testCluster is a cluster in a real API server. The test itself acts as its controllers and kubelets.
type testCluster struct {
	t      *testing.T
	server *apitest.Server
	client kubernetes.Interface
}

// newTestCluster creates a healthy cluster with one control-plane node.
func newTestCluster(t *testing.T, flags ...string) *testCluster {
	server := apitest.Start(t, flags...)
	b := &testCluster{t, server, server.Client(t)}
	b.fill()
	return b
}

// fill creates the objects of the cluster.
func (b *testCluster) fill() {
	t := b.t
	_, err := b.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-flannel"}}, metav1.CreateOptions{})
	b.must(err)
	b.node(node("cp1", corev1.ConditionTrue, controlPlaneNode))
	for _, static := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd"} {
		b.pod(pod("kube-system", static+"-cp1", "cp1"))
	}
	for _, component := range []string{"kube-scheduler", "kube-controller-manager"} {
		b.lease(lease(metav1.NamespaceSystem, component, time.Now()))
	}
	b.lease(lease(corev1.NamespaceNodeLease, "cp1", time.Now()))
	b.dns()
	b.daemonSet("kube-system", "kube-proxy")
	b.daemonSet("kube-flannel", "kube-flannel-ds")
	b.deployment(2)
}

func (b *testCluster) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *testCluster) options() Options {
	return Options{API: b.server.Config, Nodes: []string{"cp1"}, Timeout: 20e9, Soak: 300e6}
}

// node creates a node or updates its status.
func (b *testCluster) node(n *corev1.Node) {
	b.t.Helper()
	api := b.client.CoreV1().Nodes()
	_, err := api.Create(b.t.Context(), n, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		b.t.Fatal(err)
	}
	_, err = api.UpdateStatus(b.t.Context(), n, metav1.UpdateOptions{})
	b.must(err)
}

func (b *testCluster) pod(p *corev1.Pod) {
	b.t.Helper()
	api := b.client.CoreV1().Pods(p.Namespace)
	p.Spec.Containers = []corev1.Container{{Name: "main", Image: "registry.k8s.io/kube-proxy:v1"}}
	_, err := api.Create(b.t.Context(), p, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		b.t.Fatal(err)
	}
	_, err = api.UpdateStatus(b.t.Context(), p, metav1.UpdateOptions{})
	b.must(err)
}

func template(name string) (*metav1.LabelSelector, corev1.PodTemplateSpec) {
	app := map[string]string{"app": name}
	return &metav1.LabelSelector{MatchLabels: app}, corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: app},
		Spec: corev1.PodSpec{
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers:  []corev1.Container{{Name: "main", Image: "x"}},
		},
	}
}

func (b *testCluster) daemonSet(namespace, name string) {
	b.t.Helper()
	d := daemonSet(name, 1, func(d *appsv1.DaemonSet) { d.Namespace = namespace })
	d.Spec.Selector, d.Spec.Template = template(name)
	status := d.Status
	d, err := b.client.AppsV1().DaemonSets(namespace).Create(b.t.Context(), d, metav1.CreateOptions{})
	b.must(err)
	d.Status = status
	_, err = b.client.AppsV1().DaemonSets(namespace).UpdateStatus(b.t.Context(), d, metav1.UpdateOptions{})
	b.must(err)
	b.pod(pod(namespace, name+"-cp1", "cp1", ownedBy(string(d.UID))))
}

// deployment creates or updates CoreDNS with two wanted pods.
func (b *testCluster) deployment(available int32) {
	b.t.Helper()
	api := b.client.AppsV1().Deployments("kube-system")
	d := deployment("coredns")
	d.Spec.Selector, d.Spec.Template = template("coredns")
	d.Status.AvailableReplicas = available
	_, err := api.Create(b.t.Context(), d, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		b.t.Fatal(err)
	}
	_, err = api.UpdateStatus(b.t.Context(), d, metav1.UpdateOptions{})
	b.must(err)
}

func (b *testCluster) lease(l *coordinationv1.Lease) {
	b.t.Helper()
	api := b.client.CoordinationV1().Leases(l.Namespace)
	_, err := api.Create(b.t.Context(), l, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		was, errGet := api.Get(b.t.Context(), l.Name, metav1.GetOptions{})
		b.must(errGet)
		was.Spec = l.Spec
		_, err = api.Update(b.t.Context(), was, metav1.UpdateOptions{})
	}
	b.must(err)
}

// renews renews a Lease until the test ends, as its kubelet or leader does.
func (b *testCluster) renews(namespace, name string, pause time.Duration) {
	ctx, end := context.WithCancel(b.t.Context())
	var renewing sync.WaitGroup
	b.t.Cleanup(func() { end(); renewing.Wait() })
	api := b.client.CoordinationV1().Leases(namespace)
	renewing.Go(func() {
		for sleep(ctx, pause); ctx.Err() == nil; sleep(ctx, pause) {
			l, err := api.Get(ctx, name, metav1.GetOptions{})
			if err == nil {
				l.Spec.RenewTime = &metav1.MicroTime{Time: time.Now()}
				_, _ = api.Update(ctx, l, metav1.UpdateOptions{}) // the next one may succeed
			}
		}
	})
}

// dns creates the Service of CoreDNS with a ready endpoint.
func (b *testCluster) dns() {
	b.t.Helper()
	s, slice := dnsService(), endpoints(true)
	s.Spec.Ports = []corev1.ServicePort{{Port: 53}}
	_, err := b.client.CoreV1().Services("kube-system").Create(b.t.Context(), s, metav1.CreateOptions{})
	b.must(err)
	_, err = b.client.DiscoveryV1().EndpointSlices("kube-system").Create(b.t.Context(), slice, metav1.CreateOptions{})
	b.must(err)
}

// verify runs the verification.
func (b *testCluster) verify(o Options) result.Report {
	b.t.Helper()
	report, err := Run(context.Background(), o)
	b.must(err)
	return report
}
