package bundle_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"gopkg.in/yaml.v3"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/bundle/chart"
	"airgap.dev/airgap/bundle/chart/charttest"
	"airgap.dev/airgap/bundle/papers"
	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/internal/ui"
)

// index serves a repository index with one chart at a URL.
func (u *upstream) index(digest, url string) {
	u.files["charts.example/stable/index.yaml"] = fmt.Appendf(nil, "apiVersion: v1\nentries:\n  till:\n    - {version: 1.2.3, digest: %q, urls: [%q]}\n", digest, url)
}

// manifestOf pushes the chart till and returns the digest of its manifest.
func (u *upstream) manifestOf(t *testing.T, archive []byte) string {
	t.Helper()
	u.pushChart(t, archive)
	image, err := mutate.AppendLayers(mutate.MediaType(empty.Image, types.OCIManifestSchema1), static.NewLayer(archive, chartMediaType))
	must(t, err)
	digest, err := image.Digest()
	must(t, err)
	return digest.String()
}

// TestIndexLeadsToRegistry: the index of a repository refers to charts at oci://, as
// Bitnami's index does.
func TestIndexLeadsToRegistry(t *testing.T) {
	archive := charttest.Archive(t, "till", charttest.Checkout())
	for name, tc := range map[string]struct{ digest, url, complaint string }{
		"with a tag":             {sha(archive), "oci://ghcr.io/shop/charts/till:1.2.3", ""},
		"with tag and digest":    {sha(archive), "oci://ghcr.io/shop/charts/till:1.2.3@MANIFEST", ""},
		"with a digest":          {"", "oci://ghcr.io/shop/charts/till@MANIFEST", ""},
		"with neither":           {"sha256:" + sha(archive), "oci://ghcr.io/shop/charts/till", ""},
		"digest of the manifest": {"MANIFEST", "oci://ghcr.io/shop/charts/till:1.2.3", ""},
		"another digest":         {strings.Repeat("0", 64), "oci://ghcr.io/shop/charts/till:1.2.3", "oci://ghcr.io/shop/charts/till:1.2.3: SHA-256 is " + sha(archive) + ", but 0000"},
		"a tag that is missing":  {"", "oci://ghcr.io/shop/charts/till:9", "oci://ghcr.io/shop/charts/till:9 from the index of the repository: does not exist"},
		"a user in it":           {"", "oci://me:pw@ghcr.io/shop/charts/till:1.2.3", "oci:// allows only HOST/PATH and a tag or a digest"},
		"no reference":           {"", "oci://ghcr.io/Shop/till:1.2.3", `read the registry reference in the index of the repository: image reference "ghcr.io/Shop/till:1.2.3": invalid reference format`},
	} {
		t.Run(name, func(t *testing.T) {
			u := shopUpstream(t)
			manifest := u.manifestOf(t, archive)
			u.index(strings.ReplaceAll(tc.digest, "MANIFEST", manifest), strings.ReplaceAll(tc.url, "MANIFEST", manifest))
			p, err := bundle.NewPlan(background, u.client(t), shopRequest(t, u), ui.Discard())
			if tc.complaint != "" {
				wantParts(t, err, tc.complaint)
				return
			}
			must(t, err)
			got := p.Lock.Addons[0].Chart
			if got.SHA256 != sha(archive) || got.Digest != manifest || got.Repository != "https://charts.example/stable" || got.IndexDigest != (tc.digest != "") {
				t.Errorf("locked: %+v", got)
			}
		})
	}
}

// TestIndexMovesToRegistry: an archive or digest in the lock stays valid.
func TestIndexMovesToRegistry(t *testing.T) {
	u := shopUpstream(t)
	archive := charttest.Archive(t, "till", charttest.Checkout())
	request := shopRequest(t, u)
	first, err := bundle.NewPlan(background, u.client(t), request, ui.Discard())
	must(t, err)
	manifest := u.manifestOf(t, archive)
	u.index(sha(archive), "oci://ghcr.io/shop/charts/till:1.2.3")
	request.Locked = &bundle.Locked{Lock: first.Lock}
	second, err := bundle.NewPlan(background, u.client(t), request, ui.Discard())
	must(t, err)
	if got := second.Lock.Addons[0].Chart; got.SHA256 != sha(archive) || got.Digest != manifest {
		t.Errorf("locked: %+v", got)
	}
	files := charttest.Checkout()
	files["README.md"] = "new\n"
	u.pushChart(t, charttest.Archive(t, "till", files))
	request.Locked = &bundle.Locked{Lock: second.Lock}
	third, err := bundle.NewPlan(background, u.client(t), request, ui.Discard())
	must(t, err)
	if got := third.Lock.Addons[0].Chart; got.SHA256 != sha(archive) || len(third.Moved) != 1 {
		t.Errorf("locked: %+v, moved: %+v", got, third.Moved)
	}
}

// TestPagesInstead: if a proxy or a portal answers with a page, the error names the URL
// and the media type.
func TestPagesInstead(t *testing.T) {
	html := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<!DOCTYPE html>\n<html><title>Sign in</title></html>\n"))
	}
	untyped := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write([]byte("\n<html><body>blocked</body></html>\n"))
	}
	asJSON := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"error": "login_required"}`))
	}
	for name, tc := range map[string]struct {
		path   string // path with this answer
		answer func(http.ResponseWriter)
		parts  []string
	}{
		"an index": {
			"/charts.example/stable/index.yaml",
			html,
			[]string{
				"add-on cash: chart till 1.2.3 of https://charts.example/stable: GET https://",
				"/charts.example/stable/index.yaml: a proxy or login page answered (text/html; charset=utf-8, with the title \"Sign in\"), not the file: open the URL",
			},
		},
		"an index, as JSON":     {"/charts.example/stable/index.yaml", asJSON, []string{"/charts.example/stable/index.yaml: a proxy or login page answered (application/json)"}},
		"an archive":            {"/charts.example/stable/archives/till-1.2.3.tgz", html, []string{"/archives/till-1.2.3.tgz: a proxy or login page answered (text/html"}},
		"an archive, as JSON":   {"/charts.example/stable/archives/till-1.2.3.tgz", asJSON, []string{"/archives/till-1.2.3.tgz: a proxy or login page answered (application/json)"}},
		"manifests":             {"/web.example/extra.yaml", untyped, []string{"/web.example/extra.yaml: a proxy or login page answered (application/octet-stream)"}},
		"manifests, as JSON":    {"/web.example/extra.yaml", asJSON, []string{"/web.example/extra.yaml", "a proxy or login page answered (application/json)"}},
		"checksums of a file":   {"/github.com/x/releases/sums", html, []string{"/github.com/x/releases/sums: a proxy or login page answered"}},
		"a file":                {"/github.com/x/releases/runc.amd64", html, []string{"/github.com/x/releases/runc.amd64: a proxy or login page answered"}},
		"an image's manifest":   {"/v2/quay.io/shop/till/manifests/1", html, []string{"image quay.io/shop/till:1", "a proxy or login page answered, with the web page"}},
		"a registry as a whole": {"/v2/", html, nil},
	} {
		t.Run(name, func(t *testing.T) {
			u := shopUpstream(t)
			spoil := func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path != tc.path {
					return false
				}
				tc.answer(w)
				return true
			}
			u.spoil.Store(&spoil)
			_, err := bundle.NewPlan(background, u.client(t), shopRequest(t, u), ui.Discard())
			if tc.parts == nil {
				must(t, err) // any answer to the first request is fine for a registry without a login
				return
			}
			wantParts(t, err, tc.parts...)
		})
	}
}

// TestPagesInsteadOfMetadata: the client handles package repositories in the same way.
func TestPagesInsteadOfMetadata(t *testing.T) {
	bundletest.Need(t, "createrepo_c")
	key, err := rpm.NewKey(time.Unix(1_600_000_000, 0))
	must(t, err)
	for path, text := range map[string]string{
		"pkgs.k8s.io/rpm/repodata/repomd.xml":     `{"error": "login_required"}`,
		"pkgs.k8s.io/rpm/repodata/repomd.xml.asc": "<html>\n",
		"pkgs.k8s.io/key.asc":                     "<!doctype html>\n",
	} {
		u, request := rpmUpstream(t, key)
		u.files[path] = []byte(text)
		_, err = bundle.NewPlan(background, u.client(t), request, ui.Discard())
		wantParts(t, err, path+": a proxy or login page answered (")
	}
}

// TestWarnings: the bundle contains files that Helm and kubectl tolerate, with a warning.
func TestWarnings(t *testing.T) {
	u := shopUpstream(t)
	files := charttest.Checkout()
	files["templates/twice.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: twice}\ndata:\n  a: b\n  a: c\n"
	archive := charttest.Archive(t, "till", files)
	u.offer(archive, sha(archive))
	request := shopRequest(t, u)
	mustWrite(t, request.Dir, "extra.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: extra}\n---# again\napiVersion: v1\nkind: Pod\nkind: Pod\nmetadata: {name: more}\n")
	mustWrite(t, request.Dir, "values.yaml", "replicas: 3\nreplicas: 4\n")
	u.files["web.example/extra.yaml"] = []byte("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nmetadata: {name: t}\n")
	p, err := bundle.NewPlan(background, u.client(t), request, ui.Discard())
	must(t, err)
	want := []string{
		"add-on cash: values.yaml, document 1, line 2: key replicas appears more than once; the last one counts, as in Helm and kubectl",
		"add-on cash: https://web.example/extra.yaml, document 1, line 4: key metadata appears more than once; the last one counts, as in Helm and kubectl",
		"add-on cash: till/templates/twice.yaml, document 1, line 6: key data.a appears more than once; the last one counts, as in Helm and kubectl",
		"images.manifests: extra.yaml, document 2, line 7: key kind appears more than once; the last one counts, as in Helm and kubectl",
	}
	slices.Sort(want)
	if got := slices.Sorted(slices.Values(p.Warnings)); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	page, err := papers.Report(p, "SHA256:key")
	must(t, err)
	if !strings.Contains(string(page), "key data.a appears more than once") {
		t.Error("the report does not have the warnings")
	}
}

// TestKindsOfOtherAddons: a chart is rendered with the kinds of all add-ons, also of
// later ones. An object that is both a hook and a normal object appears once.
func TestKindsOfOtherAddons(t *testing.T) {
	u := newUpstream(t)
	request := u.request()
	account := "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: a\n"
	first := charttest.Directory(t, map[string]string{
		"Chart.yaml":             "apiVersion: v2\nname: first\nversion: 1.0.0\n",
		"templates/a.yaml":       "{{ if .Capabilities.APIVersions.Has \"example.com/v1/Shop\" }}\napiVersion: example.com/v1\nkind: Shop\nmetadata: {name: a}\n{{ end }}\n",
		"templates/b.yaml":       "{{ if .Capabilities.APIVersions.Has \"own.example/v1/Own\" }}\napiVersion: own.example/v1\nkind: Own\nmetadata: {name: a}\n{{ end }}\n",
		"templates/c.yaml":       account + "  labels: {for: good}\n",
		"templates/account.yaml": account + "  annotations: {helm.sh/hook: pre-install, helm.sh/hook-delete-policy: hook-succeeded}\n",
	})
	second := charttest.Directory(t, map[string]string{"Chart.yaml": "apiVersion: v2\nname: second\nversion: 1.0.0\n", "crds/a.yaml": charttest.Checkout()["crds/shops.yaml"]})
	request.Dir, request.KubeVersion = charttest.Directory(t, map[string]string{
		"own.yaml": strings.NewReplacer("shops.example.com", "owns.own.example", "example.com", "own.example", "Shop", "Own", "shop", "own").Replace(charttest.Checkout()["crds/shops.yaml"]),
	}), "1.36.3"
	request.Addons = []bundle.AddonNeed{
		{Name: "first", Namespace: "first", Chart: &bundle.ChartNeed{Path: first}},
		{Name: "second", Namespace: "second", Chart: &bundle.ChartNeed{Path: second}, Manifests: []string{"own.yaml"}},
	}
	p, err := bundle.NewPlan(background, u.client(t), request, ui.Discard())
	must(t, err)
	o, dir := options(t), filepath.Join(t.TempDir(), "stick")
	_, err = bundle.Write(background, p, dir, o, ui.Discard())
	must(t, err)
	b, err := bundle.Open(dir, bundle.PublicOf(o.Signer))
	must(t, err)
	defer b.Close()
	objects := contentOf(t, b, "manifests/first.yaml")
	for part, times := range map[string]int{"kind: Shop": 1, "kind: Own": 1, "kind: ServiceAccount": 1, "for: good": 1, "helm.sh/hook": 0} {
		if n := strings.Count(objects, part); n != times {
			t.Errorf("%q occurs %d times in\n%s", part, n, objects)
		}
	}
}

// TestInlineValues: Helm's parser reads inline values like a file.
func TestInlineValues(t *testing.T) {
	var need bundle.AddonNeed
	must(t, yaml.Unmarshal([]byte("name: x\nvalues:\n  on: &on yes\n  mode: 0o644\n  day: 2024-01-02\n  text: \"yes\"\n  again: *on\n  <<: {more: 1_000}\n  none: ~\n"), &need))
	values, notices, err := chart.Values("values", need.Values.Text)
	must(t, err)
	want := "map[again:true day:2024-01-02 mode:420 more:1000 none:<nil> text:yes true:true]"
	if got := fmt.Sprint(values); got != want || len(notices) > 0 {
		t.Errorf("got %s (%q), want %s", got, notices, want)
	}
	if err := yaml.Unmarshal([]byte("values:\n  a: 1\n  a: 2\n"), &need); err == nil || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("a duplicate key in airgap.yaml: %v", err)
	}
	var both struct {
		Shared map[string]any
		Addons []bundle.AddonNeed
	}
	must(t, yaml.Unmarshal([]byte("shared: &s {a: {b: off}}\naddons:\n- values: {c: *s}\n"), &both))
	values, _, err = chart.Values("values", both.Addons[0].Values.Text)
	must(t, err)
	if got := fmt.Sprint(values); got != "map[c:map[a:map[b:false]]]" {
		t.Errorf("got %s", got)
	}
}

func mustWrite(t *testing.T, dir, name, text string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
}
