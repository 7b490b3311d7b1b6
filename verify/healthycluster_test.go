package verify

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/verify/dataplane"
	"airgap.dev/airgap/verify/imagecache"
	"airgap.dev/airgap/verify/joinrights"
	"airgap.dev/airgap/verify/nodereport"
	"airgap.dev/airgap/verify/result"
)

// healthyCluster is a cluster in which every rule has its expected objects and is ok.
type healthyCluster struct {
	options Options
	objects map[string]metav1.Object
	reports map[string]*nodereport.Report
	beats   []heartbeat // received twice
	server  string
}

func newHealthyCluster() *healthyCluster {
	w := &healthyCluster{objects: map[string]metav1.Object{}, reports: map[string]*nodereport.Report{}, server: "v1.36.3"}
	for _, host := range []string{"cp1", "w1"} {
		w.host(host)
	}
	w.objects["Node cp1"].(*corev1.Node).Labels[controlPlaneLabel] = ""
	w.objects["Node w1"].(*corev1.Node).Status.Allocatable = corev1.ResourceList{gpuResource: resource.MustParse("1")}
	w.reports["cp1"].Etcd = &nodereport.Etcd{Member: "cp1", HasLeader: true, Leads: true, Members: []string{"cp1"}, Quota: 1, Snapshot: &metav1.Time{Time: time.Now().Add(-time.Hour)}}
	w.reports["cp1"].APIServer = &nodereport.APIServer{}
	w.reports["w1"].GPU = &nodereport.GPU{Bus: 1, Driver: "580", NVML: &nodereport.NVML{Driver: "580", Cards: 1}}
	for _, component := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd"} {
		w.add("Pod "+component, pod("kube-system", component+"-cp1", "cp1"))
	}
	for _, component := range electing() {
		w.add("Lease "+component, lease("kube-system", component, time.Now().Add(-time.Second)))
	}
	w.add("Service kube-dns", dnsService())
	w.add("EndpointSlice kube-dns", endpoints(true))
	w.add("Deployment coredns", deployment("coredns"))
	w.add("Deployment cart", deployment("cart", func(d *appsv1.Deployment) { d.Namespace = "shop" }))
	w.add("Job", &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "count"}, Status: batchv1.JobStatus{
		Succeeded: 1, Conditions: []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}},
	}})
	w.add("Pod cart", pod("shop", "cart", "w1"))
	to := admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: "kube-system", Name: "kube-dns"}}
	w.add("Webhook", &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Webhooks: []admissionv1.ValidatingWebhook{{Name: "x", ClientConfig: to}}})
	served := untyped("apiregistration.k8s.io/v1", "APIService", "v1.x", map[string]any{"service": map[string]any{"namespace": "kube-system", "name": "kube-dns"}})
	served.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Available", "status": "True"}}}
	w.add("APIService", served)
	w.add("ClusterRoleBinding", &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "airgap:join"}, RoleRef: rbacv1.RoleRef{Name: "airgap:join"}, Subjects: []rbacv1.Subject{{Kind: "Group", Name: joinrights.TokensGroup}},
	})
	w.options = Options{
		Nodes: []string{"cp1", "w1"}, NodeReports: true, PodLinks: []string{"flannel.1"}, Since: time.Now().Add(-time.Minute),
		Workloads:   []string{"Deployment kube-system/coredns", "DaemonSet " + dataplane.Namespace + "/" + dataplane.Name},
		ImageExists: func(context.Context, string, string) (bool, error) { return true, nil },
		Baseline:    &result.Baseline{Snapshot: result.Snapshot{Nodes: map[string]result.NodeState{"w1": {}}, Workloads: map[string]result.WorkloadState{"Deployment shop/cart": {}}}},
	}
	w.options.fill()
	return w
}

func (w *healthyCluster) add(name string, o metav1.Object) { w.objects[name] = o }

// host adds a node with all objects of a node.
func (w *healthyCluster) host(name string) {
	w.add("Node "+name, node(name, corev1.ConditionTrue))
	w.add("Lease "+name, lease(corev1.NamespaceNodeLease, name, time.Now().Add(-time.Second)))
	w.beats = append(w.beats, leaseOf(name))
	w.add("Pod data-plane "+name, pod(dataplane.Namespace, "data-plane-"+name, name, ownedBy(dataplane.Name), func(p *corev1.Pod) {
		p.Labels = map[string]string{dataplane.LabelName: dataplane.Name}
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: dataplane.Condition, Status: corev1.ConditionTrue})
	}))
	w.add("DaemonSet data-plane", daemonSet(dataplane.Name, 2, func(d *appsv1.DaemonSet) { d.Namespace = dataplane.Namespace }))
	w.reports[name] = &nodereport.Report{
		Heartbeat: metav1.NewMicroTime(time.Now().Add(-time.Second)), Program: "1.0.0", Programs: &nodereport.Programs{Installed: "1.0.0"},
		Units: []nodereport.Unit{{Name: "kubelet.service", State: "active"}}, Cgroup: &nodereport.Cgroup{Runtime: "systemd",
			Kubelet: "systemd"}, ProxyMode: "nftables", Network: &nodereport.HostNetwork{Address: "10.0.0.1", Link: "ens3"}, NextBoot: &nodereport.NextBoot{}, HostLinks: &nodereport.HostLinks{},
		Images: &nodereport.Images{}, Packages: &nodereport.Packages{}, Links: []nodereport.Link{{Name: "flannel.1", MTU: 1450}},
		Registries: []nodereport.Registry{{Address: "10.0.0.1:5000"}}, Clock: &nodereport.Clock{Synchronized: true},
		Disks:        []nodereport.Disk{{Path: "/", Uses: []string{"/var"}, Size: 100, Free: 50}},
		Certificates: []nodereport.Certificate{{File: "/x.crt", Ends: metav1.NewTime(time.Now().Add(300 * 24 * time.Hour))}},
	}
}

// judged returns the board after an evaluation of all rules.
func (w *healthyCluster) judged(t *testing.T) *board {
	t.Helper()
	e := w.engine(t)
	w.judge(t, e)
	return e.board
}

func (w *healthyCluster) engine(t *testing.T) *engine {
	t.Helper()
	e := newEngine(w.options, nil)
	ctx, cancel := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	asking.Go(func() { e.images.Run(ctx) })
	t.Cleanup(func() { cancel(); asking.Wait() })
	e.live = newLive(w.options)
	return e
}

// judge evaluates the current objects with e.
func (w *healthyCluster) judge(t *testing.T, e *engine) {
	t.Helper()
	objects := slices.Collect(maps.Values(w.objects))
	for host, r := range w.reports {
		objects = append(objects, report(t, host, *r))
	}
	v := seen(t, objects...)
	v.server, v.heartbeats = w.server, newHeartbeats()
	for _, b := range w.beats {
		v.heartbeats.take(b, time.Now(), time.Now(), time.Now())
		v.heartbeats.take(b, time.Now(), time.Now(), time.Now())
	}
	for _, id := range v.values(pods, byImage) {
		img, err := imagecache.Parse(id)
		if err != nil {
			t.Fatal(err)
		}
		for e.images.Look(img).State != imagecache.Found {
			runtime.Gosched()
		}
	}
	e.begin(v)
	e.judge(e.all())
}
