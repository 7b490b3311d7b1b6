package kube

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/internal/host"
)

// TestIdleConnections: clients that are no longer used leave no connections. airgap install makes clients for each of 300
// hosts that join.
func TestIdleConnections(t *testing.T) {
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"major": "1", "minor": "36"}`)
	}))
	server.EnableHTTP2 = true
	server.Config.ConnState = func(c net.Conn, state http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		switch state {
		case http.StateNew:
			open[c] = true
		case http.StateClosed, http.StateHijacked:
			delete(open, c)
		default:
		}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(open)
	}
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	m := host.Machine{Host: host.Local{}, Root: t.TempDir()}
	text := "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {}}]\n" +
		fmt.Sprintf("clusters: [{name: c, cluster: {server: %q, certificate-authority-data: %s}}]\n", server.URL, ca)
	require.NoError(t, host.WriteFile(filepath.Join(m.Root, AdminConf), []byte(text), 0o600))
	for range 20 {
		client, err := Client(m, AdminConf)
		require.NoError(t, err)
		_, err = client.Discovery().ServerVersion()
		require.NoError(t, err)
	}
	assert.NotZero(t, count())
	assert.Eventually(t, func() bool { return count() == 0 }, idle+10*time.Second, 50*time.Millisecond, "idle connections stay open")
}

// TestTransportsAreWrapped: client-go finds the transport that sends the requests. Otherwise it cannot cancel a request
// that is too slow, and writes "unable to cancel request" into the output of the command.
func TestTransportsAreWrapped(t *testing.T) {
	m := host.Machine{Host: host.Local{}, Root: t.TempDir()}
	text := "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {}}]\n" +
		"clusters: [{name: c, cluster: {server: https://10.0.0.1:6443}}]\n"
	require.NoError(t, host.WriteFile(filepath.Join(m.Root, AdminConf), []byte(text), 0o600))
	config, err := RESTConfig(m, AdminConf)
	require.NoError(t, err)
	next, err := rest.TransportFor(config)
	require.NoError(t, err)
	for {
		if _, is := next.(*http.Transport); is {
			return
		}
		wrapper, is := next.(utilnet.RoundTripperWrapper)
		require.True(t, is, "%T hides its transport", next)
		next = wrapper.WrappedRoundTripper()
	}
}
