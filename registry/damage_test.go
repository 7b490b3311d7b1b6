package registry

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/ui"
)

// TestDamageIsNamedAndRepaired damages a chunk in the store. The client gets an error, and the
// registry names the blob. An import from another registry repairs it, and the registry then serves
// the blob without a restart.
func TestDamageIsNamedAndRepaired(t *testing.T) {
	f := bundletest.New(t)
	key := &f.Key.PublicKey
	s := Store{Dir: t.TempDir()}
	_, err := s.Import(t.Context(), f.Open(t), ui.Discard(), key)
	must(t, err)
	intact := start(t, f.Open(t))
	layer, data := firstLayer(t, f.Images[0].Held)
	path := "oci/blobs/sha256/" + strings.TrimPrefix(layer, "sha256:")

	damaged := *f
	damaged.Dir = s.Dir + "/test"
	damaged.Flip(t, path)
	held, err := s.Open(key)
	must(t, err)
	r := start(t, held...)
	url := "/v2/docker.io/library/nginx/blobs/" + layer
	if resp, body, err := r.get(t, http.MethodGet, url); err == nil && resp.StatusCode == http.StatusOK {
		t.Errorf("%d of %d bytes without an error", len(body), len(data))
	}
	health, err := r.peer(t).Health(t.Context())
	must(t, err)
	if len(health.Damage) != 1 || health.Damage[0].Path != path || health.Damage[0].Bundle != "test" {
		t.Fatalf("damage: %+v", health.Damage)
	}
	d := health.Damage[0]
	if found := Compare(t.Context(), []*Client{r.peer(t)}); len(found) != 1 || found[0].Saw != d.String() {
		t.Errorf("Compare: %+v", found)
	}
	if got := r.metric(t, "airgap_registry_damaged_chunks"); got != "1" {
		t.Errorf("metric %q", got)
	}

	v, err := intact.peer(t).View(t.Context(), "test", key)
	must(t, err)
	defer v.Close()
	written, err := s.Import(t.Context(), v.Top(), ui.Discard(), key)
	if err != nil || written == 0 || written > bundle.ChunkSize {
		t.Errorf("repaired %d bytes, %v", written, err)
	}
	if _, body, err := r.get(t, http.MethodGet, url); err != nil || len(body) != len(data) {
		t.Errorf("after the repair: %d bytes, %v", len(body), err)
	}
	if health, err := r.peer(t).Health(t.Context()); err != nil || len(health.Damage) != 0 {
		t.Errorf("after the repair: %+v, %v", health.Damage, err)
	}
}

func (r *running) metric(t testing.TB, name string) string {
	t.Helper()
	resp, body, err := r.get(t, http.MethodGet, "/metrics")
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("metrics: %s, %v", resp.Status, err)
	}
	for line := range strings.Lines(string(body)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func TestMetrics(t *testing.T) {
	f := bundletest.New(t)
	stopped := prepare(t)
	must(t, stopped.listener.Close())
	r := startWith(t, Options{Bundles: []*bundle.Bundle{f.Open(t)}, Pushed: t.TempDir(), Peers: []*Client{stopped.peer(t)}})
	layer, _ := firstLayer(t, f.Images[0].Held)
	_, body, err := r.get(t, http.MethodGet, "/v2/docker.io/library/nginx/blobs/"+layer)
	must(t, err)
	for range 2 {
		_, _, err = r.get(t, http.MethodGet, "/v2/docker.io/library/nginx/manifests/none/of/this")
		must(t, err)
	}
	_, _, err = r.get(t, "BREW", "/somewhere")
	must(t, err)
	for name, want := range map[string]string{
		`airgap_registry_requests_total{code="200",kind="blobs",method="GET"}`:         "1",
		`airgap_registry_requests_total{code="404",kind="v2",method="GET"}`:            "2",
		`airgap_registry_requests_total{code="405",kind="other",method="other"}`:       "1",
		`airgap_registry_sent_bytes_total{kind="blobs"}`:                               strconv.FormatFloat(float64(len(body)), 'g', -1, 64),
		`airgap_registry_behind{peer="` + stopped.addr + `"}`:                          "0",
		`airgap_registry_peer_answered_timestamp_seconds{peer="` + stopped.addr + `"}`: "0",
		`airgap_registry_requests_under_way`:                                           "1", // this request
		`airgap_registry_damaged_chunks`:                                               "0",
	} {
		if got := r.metric(t, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if r.metric(t, "airgap_registry_certificate_expiry_timestamp_seconds") == "" || r.metric(t, "process_resident_memory_bytes") == "" {
		t.Error("no expiry or no memory among the metrics")
	}
}
