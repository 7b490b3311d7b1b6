package verify

import (
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"airgap.dev/airgap/verify/nodereport"
)

// TestKindGoesAndComes deletes the definition of NodeReports and creates it again, first with an
// unknown version and then with the known one. The rules about hosts follow, and no other kind is
// listed again.
func TestKindGoesAndComes(t *testing.T) {
	b := newTestCluster(t)
	client, err := dynamic.NewForConfig(b.server.Config)
	b.must(err)
	b.nodeReports(client)
	create := func() { b.createReport(client, report(t, "cp1", nodereport.Report{Heartbeat: metav1.NowMicro()})) }
	create()
	var w wire
	o, said := b.listening()
	o.API, o.Soak, o.Timeout, o.grow = w.on(o.API), 5*time.Second, time.Minute, 50*time.Millisecond
	o.Only = []string{"nodes-ready", "node-reports"} // the reports have no parts for other rules
	said.on("Every host sends a complete NodeReport: ok", func() {
		b.redefineReports(client, "v9")
		w.await(w.count("/apis/airgap.dev/v1alpha1") + 3) // the run checks for the kind and does not find it
		b.redefineReports(client, nodereport.Kind.Version)
	})
	said.on("NodeReport cp1: it does not exist", create)
	if r := b.verify(o); !r.OK {
		t.Fatalf("findings %+v", r.Findings)
	}
	said.want(t, "Every host sends a complete NodeReport: ok", "NodeReport cp1: it does not exist", "Every host sends a complete NodeReport: ok")
	if n := w.count("/api/v1/nodes"); n != 1 {
		t.Errorf("nodes were requested %d times", n)
	}
}

// createReport retries until the API server serves the new kind.
func (b *testCluster) createReport(client dynamic.Interface, r *unstructured.Unstructured) {
	b.t.Helper()
	for {
		_, err := client.Resource(nodereport.Resource).Create(b.t.Context(), r, metav1.CreateOptions{})
		if !apierrors.IsNotFound(err) && !apierrors.IsTooManyRequests(err) {
			b.must(err)
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// redefineReports deletes the definition, and creates it again when it is gone.
func (b *testCluster) redefineReports(client dynamic.Interface, version string) {
	b.must(client.Resource(definitions()).Delete(b.t.Context(), "nodereports.airgap.dev", metav1.DeleteOptions{}))
	for b.defineReports(client, version) != nil { // limited by the timeout of the test
		time.Sleep(50 * time.Millisecond)
	}
}

// count returns the number of requests for a path.
func (w *wire) count(path string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, u := range w.requests {
		if strings.TrimSuffix(u.Path, "/") == path {
			n++
		}
	}
	return n
}

// await waits for n requests that check whether the cluster has NodeReports.
func (w *wire) await(n int) {
	for w.count("/apis/airgap.dev/v1alpha1") < n {
		time.Sleep(20 * time.Millisecond)
	}
}
