package verify

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/verify/nodereport"
	"airgap.dev/airgap/verify/result"
)

// faulty is a wire on which requests for pods fail after the end of their first watch.
type faulty struct {
	wire

	status  metav1.Status
	first   func() // called before the first request that fails
	once    sync.Once
	watches atomic.Int32
	lifted  chan struct{}
}

func newFaulty(code int32, reason metav1.StatusReason, first func()) *faulty {
	f := &faulty{status: metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: code, Reason: reason, Message: "by the test",
	}, first: first, lifted: make(chan struct{})}
	f.touch = func(r *http.Request) {
		if q := r.URL.Query(); strings.HasSuffix(r.URL.Path, "/pods") && q.Get("watch") != "" && f.watches.Add(1) == 1 {
			q.Set("timeoutSeconds", "1")
			r.URL.RawQuery = q.Encode()
		}
	}
	f.answer = func(r *http.Request) *http.Response {
		if !strings.HasSuffix(r.URL.Path, "/pods") || f.watches.Load() < 2 || f.isLifted() {
			return nil
		}
		f.once.Do(f.first)
		if q := r.URL.Query(); f.status.Code == http.StatusGone && q.Get("resourceVersion") == "" {
			select { // a new list never ends
			case <-r.Context().Done():
			case <-f.lifted:
			}
			return nil
		}
		return f.refuses(r)
	}
	return f
}

func (f *faulty) isLifted() bool {
	select {
	case <-f.lifted:
		return true
	default:
		return false
	}
}

func (f *faulty) refuses(r *http.Request) *http.Response {
	said, _ := json.Marshal(f.status)
	header := http.Header{"Content-Type": {"application/json"}, "Retry-After": {"1"}}
	return &http.Response{StatusCode: int(f.status.Code), Header: header, Body: io.NopCloser(bytes.NewReader(said)), Request: r}
}

// TestOneKindFails deletes a pod while the API server refuses all requests for pods. The rules that
// read pods are unseen until it answers again, and then report the missing pod. All other rules are
// ok, and no other kind is listed again.
func TestOneKindFails(t *testing.T) {
	cluster := newTestCluster(t)
	for _, test := range []struct {
		name   string
		code   int32
		reason metav1.StatusReason
	}{
		{"too many requests", http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests},
		{"expired, and no new list", http.StatusGone, metav1.StatusReasonExpired},
		{"a conversion fails", http.StatusInternalServerError, metav1.StatusReasonInternalError},
		{"forbidden", http.StatusForbidden, metav1.StatusReasonForbidden},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := &testCluster{t, cluster.server, cluster.client}
			scheduler := b.client.CoreV1().Pods("kube-system")
			f := newFaulty(test.code, test.reason, func() {
				b.must(scheduler.Delete(t.Context(), "kube-scheduler-cp1", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
			})
			o, said := b.listening()
			o.API, o.Soak, o.Timeout = f.on(o.API), 5*time.Second, time.Minute
			o.bounds = bounds{down: time.Second, silent: time.Minute, renew: time.Minute, early: time.Second}
			said.on("The API server answers: not yet: Kind pods: no watch is open: by the test", func() { close(f.lifted) })
			said.on("kube-scheduler-cp1: it does not exist", func() { b.pod(pod("kube-system", "kube-scheduler-cp1", "cp1")) })
			r := b.verify(o)
			if !r.OK {
				t.Errorf("findings %+v", r.Findings)
			}
			said.want(t, "System pods run and are ready: unseen: Kind pods: no watch is open", "kube-scheduler-cp1: it does not exist")
			said.wantNever(t, "Nodes are Ready: unseen")
			if n := f.count("/api/v1/nodes"); n != 1 {
				t.Errorf("nodes were requested %d times", n)
			}
			i := slices.IndexFunc(r.Kinds, func(k result.KindResult) bool { return k.Kind == "pods" })
			if k := r.Kinds[i]; k.Errors == 0 || k.Restarts == 0 || k.Age > 30 {
				t.Errorf("the report contains %+v", k)
			}
		})
	}
}

// TestSoakNeedsAnOpenWatch: a soak window that began before the end of a watch does not complete,
// although no event shows a change.
func TestSoakNeedsAnOpenWatch(t *testing.T) {
	b := newTestCluster(t)
	f := newFaulty(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, func() {
		b.must(b.client.CoreV1().Pods("kube-system").Delete(t.Context(), "kube-scheduler-cp1", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
	})
	o := b.options()
	o.API, o.Soak, o.Timeout = f.on(o.API), 4*time.Second, 9*time.Second
	began := time.Now()
	r := b.verify(o)
	if took := time.Since(began); took > o.Timeout+2*time.Second {
		t.Errorf("the run stopped after %s", took)
	}
	i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Rule == apiServer && f.Object == "Kind pods" })
	if r.OK || i < 0 || !strings.Contains(r.Findings[i].Fix, "priority_and_fairness") {
		t.Fatalf("ok %v, findings %+v", r.OK, r.Findings)
	}
	for _, rule := range r.Rules {
		if (rule.ID == "system-pods" || rule.ID == "control-plane") && (rule.Outcome != result.Unseen || !strings.Contains(rule.Why, "Kind pods")) {
			t.Errorf("%s: %s %s", rule.ID, rule.Outcome, rule.Why)
		}
		if rule.ID == "nodes-ready" && rule.Outcome != result.OK {
			t.Errorf("%s: %s %s", rule.ID, rule.Outcome, rule.Why)
		}
	}
}

// TestUnreadableObject: if one NodeReport cannot be read, the rules about hosts are unseen and name
// it. A heartbeat without a fraction can be read.
func TestUnreadableObject(t *testing.T) {
	b := newTestCluster(t)
	client, err := dynamic.NewForConfig(b.server.Config)
	b.must(err)
	b.nodeReports(client)
	write := func(heartbeat string) {
		r := report(t, "cp1", nodereport.Report{Heartbeat: metav1.NowMicro()})
		r.Object["report"].(map[string]any)["heartbeat"] = heartbeat
		_ = client.Resource(nodereport.Resource).Delete(t.Context(), "cp1", metav1.DeleteOptions{})
		b.createReport(client, r)
	}
	write("yesterday")
	o, said := b.listening()
	o.Only = []string{"nodes-ready", "node-reports"} // this report has no parts for other rules
	said.on("unseen: NodeReport cp1: it cannot be read", func() { write(time.Now().UTC().Format(time.RFC3339)) })
	if r := b.verify(o); !r.OK {
		t.Fatalf("findings %+v", r.Findings)
	}
	said.want(t, "unseen: NodeReport cp1: it cannot be read")
	said.want(t, "The API server answers: not yet: NodeReport cp1: it cannot be read")
	said.wantNever(t, "Every host sends a complete NodeReport: not yet")
	said.wantNever(t, "Nodes are Ready: unseen")
}

// TestRenewedCredentials: the credentials from the start are no longer accepted.
func TestRenewedCredentials(t *testing.T) {
	b := newTestCluster(t)
	o, said := b.listening()
	o.API = rest.CopyConfig(o.API)
	o.API.BearerToken = "ended"
	read := 0
	o.Connect = func() (*rest.Config, error) { read++; return b.server.Config, nil }
	if r := b.verify(o); !r.OK || read != 1 {
		t.Fatalf("credentials were read %d times, findings %+v", read, r.Findings)
	}
	said.want(t, "The API server answers: not yet: API server: check API server: Unauthorized", "The API server answers: ok")
}

// TestDeadConnection: a dead connection does not delay the end of a run, for any request at that
// time.
func TestDeadConnection(t *testing.T) {
	b := newTestCluster(t)
	lb := newBalancer(t, b.server.Address())
	o, said := b.listening()
	o.API = rest.CopyConfig(o.API)
	o.API.Host, o.Soak, o.Timeout, o.grow = "https://"+lb.address(), time.Minute, 10*time.Second, 50*time.Millisecond
	said.on("Nodes are Ready: ok", func() { lb.frozen.Store(true) })
	r := b.verify(o)
	if r.OK || r.Took > o.Timeout+2*time.Second {
		t.Errorf("ok %v after %s", r.OK, r.Took)
	}
	said.want(t, "Nodes are Ready: ok")
}
