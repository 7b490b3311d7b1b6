package verify

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/verify/nodereport"
	"airgap.dev/airgap/verify/result"
)

// wire records the requests, and may change or hold them.
type wire struct {
	mu       sync.Mutex
	requests []*url.URL
	touch    func(*http.Request)
	answer   func(*http.Request) *http.Response // instead of the server; nil forwards the request
}

// on puts the wire between a client and the server.
func (w *wire) on(config *rest.Config) *rest.Config {
	c := rest.CopyConfig(config)
	c.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return through(func(r *http.Request) (*http.Response, error) {
			r = r.Clone(r.Context())
			if w.touch != nil {
				w.touch(r)
			}
			var response *http.Response
			var err error
			if w.answer != nil {
				response = w.answer(r)
			}
			if response == nil {
				response, err = next.RoundTrip(r)
			}
			w.mu.Lock()
			w.requests = append(w.requests, r.URL)
			w.mu.Unlock()
			return response, err
		})
	})
	return c
}

// asked returns the requests for pods in order: "watch", "stream" for a watch that begins with a
// list, or "list".
func (w *wire) asked() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for _, u := range w.requests {
		switch q := u.Query(); {
		case !strings.HasSuffix(u.Path, "/pods"):
		case q.Get("sendInitialEvents") == "true":
			all = append(all, "stream")
		case q.Get("watch") != "":
			all = append(all, "watch")
		default:
			all = append(all, "list")
		}
	}
	return all
}

type through func(*http.Request) (*http.Response, error)

func (t through) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// TestStreamingLists: if the server can stream lists, no plain list is requested. If it cannot,
// verification works too.
func TestStreamingLists(t *testing.T) {
	for _, test := range []struct {
		name  string
		flags []string
		want  []string
	}{
		{"the server streams", nil, []string{"stream"}},
		{"it does not", []string{"--feature-gates=WatchList=false"}, []string{"stream", "list", "watch"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newTestCluster(t, test.flags...)
			var w wire
			o := b.options()
			o.API = w.on(o.API)
			if r := b.verify(o); !r.OK {
				t.Fatalf("findings %+v", r.Findings)
			}
			if got := w.asked(); !slices.Equal(got, test.want) {
				t.Errorf("requests for pods %q, want %q", got, test.want)
			}
		})
	}
}

// compactingCluster is a cluster that compacts its etcd between the first and the second watch of pods, so
// that the second watch is expired.
type compactingCluster struct {
	*testCluster
	wire

	ended chan struct{} // closed after the first watch
	goOn  chan struct{} // closed to let the second watch continue
	once  sync.Once
}

func newCompactingCluster(t *testing.T) *compactingCluster {
	f := &compactingCluster{testCluster: newTestCluster(t, "--watch-cache=false", "--feature-gates=WatchList=false"), ended: make(chan struct{}), goOn: make(chan struct{})}
	f.touch = func(r *http.Request) {
		q := r.URL.Query()
		if !strings.HasSuffix(r.URL.Path, "/pods") || q.Get("watch") == "" {
			return
		}
		if slices.Contains(f.asked(), "watch") {
			f.once.Do(func() { close(f.ended); <-f.goOn })
		}
		q.Set("timeoutSeconds", "1")
		r.URL.RawQuery = q.Encode()
	}
	return f
}

// forget waits for the end of the first watch, calls meanwhile, and compacts etcd.
func (f *compactingCluster) forget(meanwhile func()) {
	<-f.ended
	meanwhile()
	for range 2 { // so that the change is in the past
		f.lease(lease(corev1.NamespaceNodeLease, "cp1", time.Now()))
	}
	compact(f.t, f.server.Etcd())
	close(f.goOn)
}

// TestExpired: a watch ends, an object is deleted, and etcd is compacted. The informer lists again
// without a new session, the deleted object arrives as a tombstone, and no change is lost.
func TestExpired(t *testing.T) {
	t.Parallel()
	f := newCompactingCluster(t)
	o, said := f.listening()
	o.API, o.Soak, o.Timeout = f.on(o.API), time.Minute, 30*time.Second
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	said.on("kube-scheduler-cp1: it does not exist", cancel)
	go f.forget(func() {
		f.must(f.client.CoreV1().Pods("kube-system").Delete(t.Context(), "kube-scheduler-cp1", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
	})
	_, _ = Run(ctx, o)
	said.want(t, "kube-scheduler-cp1: it does not exist")
	said.wantNever(t, "The API server answers: not yet")
	if asked := f.asked(); count(asked, "list") < 2 {
		t.Errorf("pods were not listed again: %q", asked)
	}
}

// TestListedAgain: an object that is listed again with the same version is no change.
func TestListedAgain(t *testing.T) {
	t.Parallel()
	f := newCompactingCluster(t)
	a, err := newAPI(f.on(f.server.Config))
	f.must(err)
	w := &watching{api: a, noted: &confirmations{}, lost: func(err error) { t.Errorf("given up: %v", err) }}
	w.bounds.fill()
	all, err := w.of(pods)
	f.must(err)
	marks := make(chan struct{}, 100)
	f.must(all[0].listen(newHeartbeats(), func() { marks <- struct{}{} }))
	ctx, cancel := context.WithCancel(t.Context())
	defer w.stop()
	defer cancel()
	if w.run(ctx, all); !settled(ctx, all) {
		t.Fatal("never complete")
	}
	first := len(all[0].shared.GetIndexer().ListKeys())
	for range first {
		<-marks
	}
	f.forget(func() {})
	for count(f.asked(), "list") < 2 { // the limit is the test's own
		time.Sleep(20 * time.Millisecond)
	}
	f.pod(pod("kube-system", "new", "cp1"))
	<-marks // the new pod, and its status
	<-marks
	if n := len(marks); n > 0 {
		t.Errorf("%d marks too many: %d pods were listed again", n, first)
	}
}

func count(of []string, what string) int {
	n := 0
	for _, s := range of {
		if s == what {
			n++
		}
	}
	return n
}

// compact removes the history of etcd.
func compact(t *testing.T, etcd string) {
	t.Helper()
	revision := ask(t, etcd+"/v3/kv/range", `{"key":"AA==","limit":1}`)
	_, rest, _ := strings.Cut(revision, `"revision":"`)
	now, _, _ := strings.Cut(rest, `"`)
	ask(t, etcd+"/v3/kv/compaction", fmt.Sprintf(`{"revision":%q,"physical":true}`, now))
}

func ask(t *testing.T, at, what string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at, bytes.NewBufferString(what))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	said, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %s %v", at, response.Status, said, err)
	}
	return string(said)
}

// TestFailover: a load balancer switches to another API server. The run continues and sees the
// changes from that time.
func TestFailover(t *testing.T) {
	t.Parallel()
	b := newTestCluster(t)
	second := b.server.StartSecond(t)
	lb := newBalancer(t, b.server.Address())
	o, said := b.listening()
	o.API = rest.CopyConfig(o.API)
	o.API.Host, o.Soak = "https://"+lb.address(), 3*time.Second
	others := *b
	others.client = second.Client(t)
	said.on("Nodes are Ready: ok", func() {
		lb.sendTo(second.Address())
		b.server.Stop()
		others.deployment(1)
	})
	said.on("coredns: 1 of 2 pods available", func() { others.deployment(2) })
	if r := b.verify(o); !r.OK {
		t.Fatalf("findings %+v", r.Findings)
	}
	said.want(t, "coredns: 1 of 2 pods available")
}

// TestNotReady: an API server that is not ready still answers on existing connections. The next
// connection may reach another server.
func TestNotReady(t *testing.T) {
	t.Parallel()
	b := newTestCluster(t, "--shutdown-delay-duration=5m")
	second := b.server.StartSecond(t)
	lb := newBalancer(t, b.server.Address())
	o, said := b.listening()
	o.API = rest.CopyConfig(o.API)
	o.API.Host, o.Soak, o.Timeout = "https://"+lb.address(), 25*time.Second, 2*time.Minute // longer than the time between two probes
	said.on("Nodes are Ready: ok", func() { lb.nextTo(second.Address()); b.server.Shutdown(t) })
	if r := b.verify(o); !r.OK {
		t.Fatalf("findings %+v", r.Findings)
	}
	said.want(t, "The API server answers: not yet: API server: check API server: not ready: shutdown", "The API server answers: ok")
}

// TestNewKind: NodeReports are added to the cluster while it is watched, and their rules apply then.
func TestNewKind(t *testing.T) {
	t.Parallel()
	b := newTestCluster(t)
	o, said := b.listening()
	o.Soak, o.grow = 3*time.Second, 50*time.Millisecond
	others, err := dynamic.NewForConfig(b.server.Config)
	b.must(err)
	said.on("Nodes are Ready: ok", func() { b.nodeReports(others) })
	said.on("NodeReport cp1: it does not exist", func() {
		r := report(t, "cp1", *newHealthyCluster().reports["cp1"])
		_, err := others.Resource(nodereport.Resource).Create(b.t.Context(), r, metav1.CreateOptions{})
		b.must(err)
	})
	r := b.verify(o)
	if !r.OK {
		t.Fatalf("findings %+v", r.Findings)
	}
	i := slices.IndexFunc(r.Rules, func(r result.RuleResult) bool { return r.ID == "units" })
	if r.Rules[i].Outcome != result.OK {
		t.Errorf("the rules about hosts: %s", r.Rules[i].Outcome)
	}
	said.want(t, "NodeReport cp1: it does not exist")
	said.wantNever(t, "The API server answers: not yet")
}

// nodeReports defines the kind NodeReport without its schema. From then on the kubelet of cp1 renews
// its Lease, which dates its reports.
func (b *testCluster) nodeReports(client dynamic.Interface) {
	b.t.Helper()
	b.must(b.defineReports(client, nodereport.Kind.Version))
	b.renews(corev1.NamespaceNodeLease, "cp1", 100*time.Millisecond)
}

// defineReports defines one version of the kind.
func (b *testCluster) defineReports(client dynamic.Interface, version string) error {
	crd := untyped("apiextensions.k8s.io/v1", "CustomResourceDefinition", "nodereports.airgap.dev", map[string]any{
		"group": nodereport.Kind.Group, "scope": "Cluster",
		"names": map[string]any{"kind": nodereport.Kind.Kind, "plural": "nodereports"},
		"versions": []any{map[string]any{"name": version, "served": true, "storage": true, "schema": map[string]any{
			"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
		}}},
	})
	_, err := client.Resource(definitions()).Create(b.t.Context(), crd, metav1.CreateOptions{})
	return err
}

func definitions() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
}

// TestScope: a user with access to one namespace verifies that namespace.
func TestScope(t *testing.T) {
	t.Parallel()
	b := newTestCluster(t)
	b.mayRead("tenant", "shop", "get", "list", "watch")
	o := b.options()
	o.API = rest.CopyConfig(o.API)
	o.API.Impersonate = rest.ImpersonationConfig{UserName: "tenant"}
	o.Scope, o.Timeout = []string{"shop"}, 3*time.Second
	b.pod(pod("shop", "cart", "cp1"))
	if r := b.verify(o); !r.OK || r.Counts.Pods != 1 {
		t.Fatalf("looked at %+v, findings %+v", r.Counts, r.Findings)
	}
	apart := o
	apart.Only = []string{"nodes-ready"}
	if r := b.verify(apart); r.OK || r.Rules[1].Outcome != result.Unseen || r.Rules[1].Why != "it needs more than the namespaces shop" {
		t.Errorf("without access to nodes: %+v, findings %+v", r.Rules, r.Findings)
	}
	b.pod(pod("shop", "cart", "cp1", waiting("CrashLoopBackOff", "back-off 10s")))
	wantSaw(t, b.verify(o).Findings, Finding{Object: "Pod shop/cart", Saw: "container main: CrashLoopBackOff: back-off 10s"})

	tenant, err := kubernetes.NewForConfig(o.API)
	b.must(err)
	shop, err := b.client.CoreV1().Namespaces().Get(t.Context(), "shop", metav1.GetOptions{})
	b.must(err)
	if id, err := ClusterID(t.Context(), tenant, o.Scope); err != nil || id != string(shop.UID) {
		t.Errorf("the tenant's cluster is %q (%v), want %q", id, err, shop.UID)
	}
	if _, err := ClusterID(t.Context(), tenant, nil); err == nil || !strings.Contains(err.Error(), "the verb get on namespaces") {
		t.Errorf("the tenant has no access to this namespace: %v", err)
	}
}

// mayRead creates a namespace in which a user has these verbs for all resources.
func (b *testCluster) mayRead(user, namespace string, verbs ...string) {
	b.t.Helper()
	_, err := b.client.CoreV1().Namespaces().Create(b.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	b.must(err)
	reads := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "reads"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: verbs}}}
	_, err = b.client.RbacV1().Roles(namespace).Create(b.t.Context(), reads, metav1.CreateOptions{})
	b.must(err)
	_, err = b.client.RbacV1().RoleBindings(namespace).Create(b.t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "reads"}, RoleRef: rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: "reads"},
		Subjects: []rbacv1.Subject{{Kind: "User", Name: user, APIGroup: "rbac.authorization.k8s.io"}},
	}, metav1.CreateOptions{})
	b.must(err)
}
