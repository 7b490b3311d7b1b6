package nodereport

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/verify/apitest"
)

// TestAskAPIServer: the kubelet's identity has the rights, and each fault is named: an old cache,
// a server that shuts down, a server that does not answer.
func TestAskAPIServer(t *testing.T) {
	server := apitest.Start(t, "--authorization-mode=Node", "--shutdown-delay-duration=1m")
	leases := server.Client(t).CoordinationV1().Leases("kube-node-lease")
	began := metav1.NowMicro()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "w1"}, Spec: coordinationv1.LeaseSpec{RenewTime: &began}}
	lease, err := leases.Create(t.Context(), lease, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	client := asNode(t, server.Config, server.Config.Host)
	frozen := asNode(t, &rest.Config{BearerToken: server.Config.BearerToken}, staleCache(t, server).URL)
	for _, c := range []kubernetes.Interface{client, frozen} {
		if got := QueryAPIServer(t.Context(), c, "w1"); *got != (APIServer{}) {
			t.Fatalf("a healthy server: %+v", got)
		}
	}
	later := metav1.NewMicroTime(began.Add(90 * time.Second))
	lease.Spec.RenewTime = &later
	if _, err := leases.Update(t.Context(), lease, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := QueryAPIServer(t.Context(), frozen, "w1"); got.Error != "" || got.Behind < 89 || got.Behind > 90 {
		t.Errorf("an old cache: %+v", got)
	}
	if got := QueryAPIServer(t.Context(), client, "w2"); !strings.Contains(got.Error, "does not read this node's lease from etcd") {
		t.Errorf("without the right to a lease: %+v", got)
	}
	server.Shutdown(t)
	awaitError(t, client, "it is not ready: shutdown")
	server.Stop()
	awaitError(t, client, "connection refused")
}

func awaitError(t *testing.T, client kubernetes.Interface, want string) {
	t.Helper()
	var last *APIServer
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 20*time.Second, true, func(ctx context.Context) (bool, error) {
		last = QueryAPIServer(ctx, client, "w1")
		return strings.Contains(last.Error, want), nil
	})
	if err != nil {
		t.Errorf("%+v, want %q", last, want)
	}
}

// asNode returns a client with the identity of the kubelet of w1.
func asNode(t *testing.T, config *rest.Config, address string) kubernetes.Interface {
	t.Helper()
	config = rest.CopyConfig(config)
	config.Host = address
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:node:w1", Groups: []string{"system:nodes", "system:authenticated"}}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// staleCache starts a proxy that repeats the server's first answer from the cache.
func staleCache(t *testing.T, server *apitest.Server) *httptest.Server {
	t.Helper()
	to, err := url.Parse(server.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	through := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, Transport: transport}
	var first *httptest.ResponseRecorder
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("resourceVersion") != "0" {
			through.ServeHTTP(w, r)
			return
		}
		if first == nil {
			first = httptest.NewRecorder()
			through.ServeHTTP(first, r)
		}
		maps.Copy(w.Header(), first.Header())
		_, _ = w.Write(first.Body.Bytes())
	}))
	t.Cleanup(s.Close)
	return s
}
