package nodereport

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/internal/porttest"
	"airgap.dev/airgap/verify/apitest"
)

func TestRegistries(t *testing.T) {
	serve := func(status int) (*httptest.Server, string) {
		s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v2/" {
				status = http.StatusNotFound
			}
			w.WriteHeader(status)
		}))
		t.Cleanup(s.Close)
		return s, strings.TrimPrefix(s.URL, "https://")
	}
	good, open := serve(http.StatusOK)
	_, login := serve(http.StatusUnauthorized)
	_, broken := serve(http.StatusBadGateway)
	away := "127.0.0.1:" + porttest.Reserve(t)
	ca := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: good.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		Upstream
		want string
	}{
		{Upstream{Address: open, Node: "node1", CAFile: ca}, ""},
		{Upstream{Address: open + "/project", CAFile: ca}, ""},
		{Upstream{Address: login, CAFile: ca}, ""},
		{Upstream{Address: broken, CAFile: ca}, "it answered 502 Bad Gateway"},
		{Upstream{Address: away, CAFile: ca}, "connection refused"},
		{Upstream{Address: open, CAFile: ""}, "unknown authority"},
		{Upstream{Address: open, CAFile: ca + ".none"}, "no such file"},
	}
	var all []Upstream
	for _, test := range tests {
		all = append(all, test.Upstream)
	}
	got := Registries(t.Context(), all)
	for i, test := range tests {
		if got[i].Address != test.Address || got[i].Node != test.Node || (got[i].Error == "") != (test.want == "") || !strings.Contains(got[i].Error, test.want) {
			t.Errorf("%+v: got %q, want %q", test.Upstream, got[i].Error, test.want)
		}
	}
	ended, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	if got := Registries(ended, all[:1]); got[0].Error != "no answer" {
		t.Errorf("after the deadline: got %q, want %q", got[0].Error, "no answer")
	}
}

func TestProxyMode(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("nftables\n")) }))
	if got, err := ProxyMode(t.Context(), s.URL+"/proxyMode"); err != nil || got != "nftables" {
		t.Errorf("got %q, %v", got, err)
	}
	s.Close()
	_, err := ProxyMode(t.Context(), s.URL+"/proxyMode")
	if want := "read kube-proxy's mode: " + strings.TrimPrefix(s.URL, "http://") + ": connect: connection refused"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestEtcdTrouble queries a real member, before and after an alarm is set.
func TestEtcdTrouble(t *testing.T) {
	at := apitest.Start(t).Etcd()
	if got := EtcdHealthError(t.Context(), at+"/health"); got != "" {
		t.Errorf("got %q", got)
	}
	postJSON(t, at+"/v3/maintenance/alarm", map[string]any{"action": "ACTIVATE", "alarm": "NOSPACE"})
	if got := EtcdHealthError(t.Context(), at+"/health"); got != "it is not healthy: ALARM NOSPACE" {
		t.Errorf("with an alarm: %q", got)
	}
}

func postJSON(t *testing.T, url string, content map[string]any) {
	t.Helper()
	body, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Post(url, "application/json", bytes.NewReader(body))
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("post to %s: %v, %v", url, response, err)
	}
}
