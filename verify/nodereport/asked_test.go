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
	"slices"
	"strings"
	"testing"
	"time"

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
	gone, away := serve(http.StatusOK)
	gone.Close()
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
		t.Errorf("out of time: %q", got[0].Error)
	}
}

func TestProxyMode(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("nftables\n")) }))
	if got, err := ProxyMode(t.Context(), s.URL+"/proxyMode"); err != nil || got != "nftables" {
		t.Errorf("got %q, %v", got, err)
	}
	s.Close()
	_, err := ProxyMode(t.Context(), s.URL+"/proxyMode")
	if want := "ask kube-proxy for its mode: " + strings.TrimPrefix(s.URL, "http://") + ": connect: connection refused"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestEtcd asks a real member, before and after it has an alarm.
func TestEtcd(t *testing.T) {
	at := apitest.Start(t).Etcd()
	m := EtcdMember{Client: &http.Client{}, URL: at, Health: at + "/health"}
	got := m.Ask(t.Context())
	if got.Member != "default" || !got.HasLeader || !got.Leads || got.Error != "" || got.Bytes == 0 || got.Quota != 2<<30 || !slices.Equal(got.Members, []string{"default"}) || len(got.Alarms) > 0 {
		t.Errorf("got %+v", got)
	}
	join(t, at, "http://127.0.0.1:2")
	if got = m.Ask(t.Context()); !slices.Equal(got.Members, []string{"default"}) || !slices.Equal(got.Unstarted, []string{"http://127.0.0.1:2"}) {
		t.Errorf("with a member that has never started: %+v", got)
	}
	alarm(t, at)
	got = m.Ask(t.Context())
	if !slices.Equal(got.Alarms, []string{"NOSPACE"}) || got.Error != "it is not healthy: ALARM NOSPACE" {
		t.Errorf("with an alarm: %+v", got)
	}
	m.URL = "http://127.0.0.1:1"
	if got := m.Ask(t.Context()); got.Error != "127.0.0.1:1: connect: connection refused" {
		t.Errorf("no member there: %+v", got)
	}
}

// alarm makes the member raise one, as it does when its database is full.
func alarm(t *testing.T, at string) {
	t.Helper()
	tell(t, at+"/v3/maintenance/alarm", map[string]any{"action": "ACTIVATE", "alarm": "NOSPACE"})
}

// join announces a member to be at peer: a learner, as kubeadm does it, so that
// the others keep their quorum.
func join(t *testing.T, at, peer string) {
	t.Helper()
	tell(t, at+"/v3/cluster/member/add", map[string]any{"peerURLs": []string{peer}, "isLearner": true})
}

func tell(t *testing.T, url string, what map[string]any) {
	t.Helper()
	body, err := json.Marshal(what)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Post(url, "application/json", bytes.NewReader(body))
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("post to %s: %v, %v", url, response, err)
	}
}
