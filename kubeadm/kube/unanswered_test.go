package kube_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/kubeadm/kube"
)

// TestUnanswered asks servers that do not answer, answer with a failure, or break the connection.
func TestUnanswered(t *testing.T) {
	status := func(code int, reason v1.StatusReason) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d}`, reason, code)
		}
	}
	silent := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // before that, the server does not see that the client has left
		<-r.Context().Done()
	}
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		want  bool
	}{
		"silence":         {silent, true},
		"a broken answer": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, true},
		"an overload":     {status(http.StatusServiceUnavailable, v1.StatusReasonServiceUnavailable), true},
		"too slow":        {status(http.StatusGatewayTimeout, v1.StatusReasonTimeout), true},
		"a refusal":       {status(http.StatusForbidden, v1.StatusReasonForbidden), false},
		"a conflict":      {status(http.StatusConflict, v1.StatusReasonConflict), false},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c.serve)
			defer server.Close()
			client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, Timeout: 200 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			err = client.RbacV1().ClusterRoleBindings().Delete(context.Background(), "auto", v1.DeleteOptions{})
			if err == nil || kube.Unanswered(fmt.Errorf("delete: %w", err)) != c.want {
				t.Errorf("%v: want %v", err, c.want)
			}
		})
	}
	registry := httptest.NewServer(http.HandlerFunc(silent))
	defer registry.Close()
	_, err := (&http.Client{Timeout: 100 * time.Millisecond}).Get(registry.URL + "/v2/")
	if err == nil || kube.Unanswered(err) {
		t.Errorf("a registry that does not answer: %v", err)
	}
}
