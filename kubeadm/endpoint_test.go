package kubeadm

import (
	"net"
	"net/http/httptest"
	"net/url"
	"testing"

	"airgap.dev/airgap/verify/apitest"
)

// TestClusterAt: only a real API server counts, not another TLS server, a load balancer that
// closes the connection, or a closed port.
func TestClusterAt(t *testing.T) {
	api, err := url.Parse(apitest.Start(t).Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewTLSServer(nil)
	defer web.Close()
	balancer, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer balancer.Close()
	go func() {
		for {
			conn, err := balancer.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	for at, want := range map[string]bool{
		api.Host: true, web.Listener.Addr().String(): false, balancer.Addr().String(): false, "127.0.0.1:1": false,
	} {
		if got := ClusterAt(t.Context(), at); got != want {
			t.Errorf("ClusterAt(%s): got %v, want %v", at, got, want)
		}
	}
}
