package bundle_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/bundle/chart"
	"airgap.dev/airgap/bundle/destinations"
	"airgap.dev/airgap/bundle/fetch"
	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/internal/ui"
)

// TestProbe: the list has the storage that a registry redirects blobs to, although the plan reads none of
// them, and the reasons.
func TestProbe(t *testing.T) {
	images := bundletest.StandardImages(t)[:1]
	u := newUpstream(t, images...)
	cdn := newStore(u, httptest.NewTLSServer)
	t.Cleanup(cdn.Close)
	plainly := u.request(images...)
	big := images[0].Name
	var mu sync.Mutex
	blobs := 0
	away := func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasPrefix(r.URL.Path, "/github.com/") && !strings.Contains(r.URL.Path, "/blobs/") {
			return false
		}
		if strings.Contains(r.URL.Path, "/blobs/") {
			mu.Lock()
			blobs++
			mu.Unlock()
		}
		http.Redirect(w, r, cdn.URL+r.URL.Path+"?signature=s3cret", http.StatusTemporaryRedirect)
		return true
	}
	u.spoil.Store(&away)
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	c := u.client(t)
	seen := &destinations.Recorder{}
	c.Watch(seen.See)
	p, err := bundle.NewPlan(background, c, plainly, ui.Discard())
	require.NoError(t, err)
	require.NoError(t, destinations.Probe(background, p, c, ui.Discard()))
	list := seen.List(u.sources(), nil)
	assert.Empty(t, list.Incomplete)
	require.Len(t, list.Destinations, 2)
	assert.Positive(t, blobs)
	for _, d := range list.Destinations {
		assert.Contains(t, strings.Join(d.For, "\n"), "image ")
		assert.Contains(t, strings.Join(d.For, "\n"), strings.SplitN(big, "/", 2)[1])
		assert.Contains(t, d.For, "file runc")
		switch fmt.Sprintf("%s:%d", d.Host, d.Port) {
		case strings.TrimPrefix(cdn.URL, "https://"):
			assert.Equal(t, []string{u.host()}, d.RedirectedBy)
		case u.host():
			assert.Equal(t, "sources.rewrite[0].to: it is the mirror of *", d.Setting)
		default:
			t.Errorf("an unknown host: %+v", d)
		}
	}
	var text strings.Builder
	require.NoError(t, list.Write(&text))
	assert.NotContains(t, text.String(), "s3cret")
	assert.Contains(t, text.String(), "redirect from "+u.host())
}

// TestChartLogin: the login of a chart repository goes to the repository, and not to the host that its index names.
func TestChartLogin(t *testing.T) {
	u := newUpstream(t)
	archive, err := chart.Pack(chartDir(t))
	require.NoError(t, err)
	var mu sync.Mutex
	shown := map[string]bool{}
	guard := func(w http.ResponseWriter, r *http.Request) bool {
		_, password, given := r.BasicAuth()
		mu.Lock()
		shown[r.URL.Path] = given
		mu.Unlock()
		if strings.HasPrefix(r.URL.Path, "/charts.example/") && password != "s3cret" {
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
		return false
	}
	u.spoil.Store(&guard)
	u.files["charts.example/private/index.yaml"] = []byte("entries: {till: [{version: 1.0.0, urls: [\"https://storage.example/till.tgz\"]}," +
		" {version: 1.0.1, urls: [\"https://charts.example/files/till.tgz\"]}]}\n")
	u.files["storage.example/till.tgz"], u.files["charts.example/files/till.tgz"] = archive, archive
	t.Setenv("CHARTS_PASSWORD", "s3cret")
	c := u.client(t)
	require.NoError(t, c.Use(fetch.Login{Below: "https://charts.example/private", Login: rpm.Login{Username: "bank", PasswordEnv: "CHARTS_PASSWORD"}}))
	r := u.request()
	r.Files, r.KubeVersion = nil, "1.36.3"
	for version, from := range map[string]string{"1.0.0": "/storage.example/till.tgz", "1.0.1": "/charts.example/files/till.tgz"} {
		need := &bundle.ChartNeed{Repository: "https://charts.example/private", Name: "till", Version: version}
		r.Addons = []bundle.AddonNeed{{Name: "till", Namespace: "till", Chart: need}}
		clear(shown)
		_, err = bundle.NewPlan(background, c, r, ui.Discard())
		if version == "1.0.0" { // the archive says 1.0.0
			require.NoError(t, err)
		}
		assert.Equal(t, map[string]bool{"/charts.example/private/index.yaml": true, from: version == "1.0.1"}, shown)
	}
}

func chartDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "till")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "templates"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Chart.yaml"), []byte("apiVersion: v2\nname: till\nversion: 1.0.0\n"), 0o600))
	object := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: b}\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "templates/a.yaml"), []byte(object), 0o600))
	return dir
}

// TestRegistryLoginOfChart: the login of an oci:// repository goes to its registry.
func TestRegistryLoginOfChart(t *testing.T) {
	u := newUpstream(t)
	var asked []string
	var mu sync.Mutex
	guard := func(w http.ResponseWriter, r *http.Request) bool {
		user, password, given := r.BasicAuth()
		mu.Lock()
		asked = append(asked, r.URL.Path+" "+user+" "+password)
		mu.Unlock()
		if !given {
			w.Header().Set("WWW-Authenticate", `Basic realm="charts"`)
			w.WriteHeader(http.StatusUnauthorized)
		}
		return !given
	}
	u.spoil.Store(&guard)
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	t.Setenv("CHARTS_PASSWORD", "s3cret")
	c, err := fetch.NewClient(fetch.Sources{CA: u.ca})
	require.NoError(t, err)
	hasten(c)
	at := "oci://" + u.host() + "/private"
	require.NoError(t, c.Use(fetch.Login{Below: at, Login: rpm.Login{Username: "bank", PasswordEnv: "CHARTS_PASSWORD"}}))
	r := u.request()
	r.Files, r.KubeVersion = nil, "1.36.3"
	r.Addons = []bundle.AddonNeed{{Name: "till", Namespace: "till", Chart: &bundle.ChartNeed{Repository: at, Name: "till", Version: "1.0.0"}}}
	_, err = bundle.NewPlan(background, c, r, ui.Discard())
	require.ErrorContains(t, err, "does not exist in")
	assert.Contains(t, asked, "/v2/private/till/manifests/1.0.0 bank s3cret")
}

// TestPlainMirror: a mirror without https serves what has a digest, and nothing else.
func TestPlainMirror(t *testing.T) {
	u := newUpstream(t)
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { u.serve(w, r) }))
	t.Cleanup(plain.Close)
	r := u.request()
	at := strings.TrimPrefix(plain.URL, "http://")
	sources := fetch.Sources{CA: u.ca, Rewrite: []fetch.Rewrite{
		{From: "*", To: u.host()}, {From: "github.com/x/releases/runc.amd64", To: at + "/github.com/x/releases/runc.amd64", Plain: true},
	}}
	planned := func() (*bundle.Plan, error) {
		c, err := fetch.NewClient(sources)
		require.NoError(t, err)
		hasten(c)
		return bundle.NewPlan(background, c, r, ui.Discard())
	}
	p, err := planned()
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "stick")
	_, err = bundle.Write(background, p, dir, options(t), ui.Discard())
	require.NoError(t, err)
	sources.Rewrite[1].From, sources.Rewrite[1].To = "github.com", at+"/github.com"
	_, err = planned()
	require.ErrorContains(t, err, "GET https://github.com/x/releases/sums: airgap reads this content only over https")
}
