package bundle_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/bundle/chart/charttest"
	"airgap.dev/airgap/bundle/papers"
	"airgap.dev/airgap/internal/ui"
)

const chartMediaType = types.MediaType("application/vnd.cncf.helm.chart.content.v1.tar+gzip")

// shopUpstream has the images of the chart till, and the chart in a repository and in a
// registry.
func shopUpstream(t *testing.T) *upstream {
	u := newUpstream(t)
	for _, image := range []string{"till:1", "till:2", "prepare:1", "plugin:1", "extra:1"} {
		u.push(t, bundletest.Image{Name: "quay.io/shop/" + image, Held: bundletest.RandomImage(t, 500, 1, "amd64")})
	}
	archive := charttest.Archive(t, "till", charttest.Checkout())
	u.offer(archive, sha(archive))
	u.pushChart(t, archive)
	return u
}

// offer adds a chart to the repository charts.example/stable.
func (u *upstream) offer(archive []byte, digest string) {
	u.files["charts.example/stable/index.yaml"] = fmt.Appendf(
		nil,
		"apiVersion: v1\nentries:\n  till:\n    - {version: 1.2.3, digest: %q, urls: [archives/till-1.2.3.tgz]}\n    - {version: 1.0.0, digest: '', urls: ['http://charts.example/x.tgz']}\n",
		digest,
	)
	u.files["charts.example/stable/archives/till-1.2.3.tgz"] = archive
}

func (u *upstream) pushChart(t *testing.T, archive []byte) {
	t.Helper()
	image, err := mutate.AppendLayers(mutate.MediaType(empty.Image, types.OCIManifestSchema1), static.NewLayer(archive, chartMediaType))
	must(t, err)
	ref, err := name.ParseReference(u.host() + "/ghcr.io/shop/charts/till:1.2.3")
	must(t, err)
	must(t, remote.Write(ref, image, remote.WithTransport(u.Client().Transport)))
}

// shopRequest has the chart from the repository, and objects from a path and a URL.
func shopRequest(t *testing.T, u *upstream) bundle.Request {
	dir := charttest.Directory(t, map[string]string{
		"extra.yaml":  "apiVersion: v1\nkind: Pod\nmetadata: {name: extra}\nspec: {containers: [{name: e, image: quay.io/shop/extra:1}]}\n",
		"values.yaml": "replicas: 3\n",
	})
	u.files["web.example/extra.yaml"] = []byte("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: b}\n")
	r := u.request()
	r.Dir, r.KubeVersion = dir, "1.36.3"
	r.Manifests = []string{"extra.yaml"}
	r.Addons = []bundle.AddonNeed{{
		Name: "cash", Namespace: "shop", Values: bundle.Values{File: "values.yaml"},
		Chart:     &bundle.ChartNeed{Repository: "https://charts.example/stable", Name: "till", Version: "1.2.3"},
		Manifests: []string{"https://web.example/extra.yaml?token=hunter2"},
	}}
	return r
}

// TestAddons covers the way from a chart repository to the files in the bundle.
func TestAddons(t *testing.T) {
	u := shopUpstream(t)
	request := shopRequest(t, u)
	p, err := bundle.NewPlan(background, u.client(t), request, ui.Discard())
	must(t, err)
	wantNeeds(t, p.Lock, map[string]string{
		"quay.io/shop/till:1":    "add-on cash: Deployment shop/cash, container till",
		"quay.io/shop/prepare:1": "add-on cash: Deployment shop/cash, init container prepare|add-on cash: Job shop/prepare, container prepare",
		"quay.io/shop/plugin:1":  "add-on cash: chart till, annotation artifacthub.io/images",
		"quay.io/shop/extra:1":   "extra.yaml: Pod extra, container e",
	})
	if want := []string{"add-on cash: Secret shop/s"}; !slices.Equal(p.Secrets, want) {
		t.Errorf("secrets are %q, want %q", p.Secrets, want)
	}
	if text, err := json.Marshal(p.Lock); err != nil || strings.Contains(string(text), "hunter2") {
		t.Errorf("the lock has the query of a URL (%v): %s", err, text)
	}
	o, dir := options(t), filepath.Join(t.TempDir(), "stick")
	_, err = bundle.Write(background, p, dir, o, ui.Discard())
	must(t, err)
	b, err := bundle.Open(dir, bundle.PublicOf(o.Signer))
	must(t, err)
	defer b.Close()
	must(t, b.Verify(background, ui.Discard()))
	addon := b.Index().Lock.Addons[0]
	objects := contentOf(t, b, addon.Path)
	order := []string{"kind: CustomResourceDefinition", "kind: Namespace", "kind: Job", "kind: ConfigMap", "kind: Secret", "open: true", "replicas: 3"}
	at := -1
	for _, part := range order {
		next := strings.Index(objects, part)
		if next <= at {
			t.Errorf("%q is at %d, the previous one at %d in\n%s", part, next, at, objects)
		}
		at = next
	}
	if strings.Contains(objects, "tested") || strings.Contains(objects, "printer") {
		t.Error("a test or a disabled part is installed")
	}
	if got := contentOf(t, b, "charts/till-1.2.3.tgz"); got != string(u.files["charts.example/stable/archives/till-1.2.3.tgz"]) {
		t.Error("the chart differs from the upstream chart")
	}
	if s := b.Index().Summary(); s.Addons.Count != 1 || s.Addons.Bytes == 0 {
		t.Errorf("summary: %+v", s)
	}
	again, err := bundle.NewPlan(background, u.client(t), request, ui.Discard())
	must(t, err)
	if again.Lock.Addons[0].SHA256 != addon.SHA256 {
		t.Error("the same chart gave different objects")
	}
	wantPapers(t, p)
}

// wantPapers requires the add-ons in the report and in the SBOM.
func wantPapers(t *testing.T, p *bundle.Plan) {
	t.Helper()
	page, err := papers.Report(p, "SHA256:key")
	must(t, err)
	sbom, err := papers.SBOM(p)
	must(t, err)
	addon := p.Lock.Addons[0]
	for _, want := range []string{addon.SHA256, addon.Chart.Digest, "https://charts.example/stable", "add-on cash: Secret shop/s", "manifests/cash.yaml"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("%q is missing in the report", want)
		}
	}
	for _, want := range []string{addon.SHA256, addon.Chart.SHA256, "pkg:helm/till@1.2.3?repository_url=https"} {
		if !strings.Contains(string(sbom), want) {
			t.Errorf("%q is missing in the SBOM", want)
		}
	}
}

// TestAddonOfRegistry: the chart is an artifact, locked by its digest.
func TestAddonOfRegistry(t *testing.T) {
	u := shopUpstream(t)
	request := shopRequest(t, u)
	request.Addons[0].Chart.Repository = "oci://ghcr.io/shop/charts"
	first, err := bundle.NewPlan(background, u.client(t), request, ui.Discard())
	must(t, err)
	locked := first.Lock.Addons[0].Chart
	if locked.SHA256 != sha(charttest.Archive(t, "till", charttest.Checkout())) || locked.Digest == "sha256:"+locked.SHA256 {
		t.Errorf("the chart is %+v", locked)
	}
	files := charttest.Checkout()
	files["values.yaml"] = strings.Replace(files["values.yaml"], "'1'", "'2'", 1)
	files["templates/prepare.yaml"], files["charts/drawer/values.yaml"] = "", "coins: 1\n"
	files["templates/till.yaml"] = strings.Replace(files["templates/till.yaml"], "prepare:{{ .Values.image.tag }}", "prepare:1", 1)
	u.pushChart(t, charttest.Archive(t, "till", files))
	request.Locked = &bundle.Locked{Lock: first.Lock}
	again, err := bundle.NewPlan(background, u.client(t), request, ui.Discard())
	must(t, err)
	if again.Lock.Addons[0].SHA256 != first.Lock.Addons[0].SHA256 || len(again.Moved) != 1 || again.Moved[0].Name != "cash" {
		t.Errorf("moved: %+v", again.Moved)
	}
	request.Locked.Update = []string{"cash"}
	followed, err := bundle.NewPlan(background, u.client(t), request, ui.Discard())
	must(t, err)
	if followed.Lock.Addons[0].Chart.Digest == locked.Digest || len(followed.Moved) > 0 {
		t.Error("the chart was not updated")
	}
	wantNeeds(t, followed.Lock, map[string]string{"quay.io/shop/till:2": "add-on cash: Deployment shop/cash, container till"})
}

// TestAddonLocked: a repository cannot return old bytes after its archive changed, so a
// changed archive is an error and not a moved tag.
func TestAddonLocked(t *testing.T) {
	u := shopUpstream(t)
	request := shopRequest(t, u)
	first, err := bundle.NewPlan(background, u.client(t), request, ui.Discard())
	must(t, err)
	request.Locked = &bundle.Locked{Lock: first.Lock}
	files := charttest.Checkout()
	files["README.md"] = "new\n"
	archive := charttest.Archive(t, "till", files)
	u.offer(archive, sha(archive))
	_, err = bundle.NewPlan(background, u.client(t), request, ui.Discard())
	wantParts(t, err, "add-on cash: chart till 1.2.3 of https://charts.example/stable has changed since it was locked", "pass --update cash")
	request.Locked.Update = []string{"cash"}
	_, err = bundle.NewPlan(background, u.client(t), request, ui.Discard())
	must(t, err)
	u.offer(charttest.Archive(t, "till", charttest.Checkout()), "")
	u.files["web.example/extra.yaml"] = []byte("apiVersion: v1\nkind: Secret\nmetadata: {name: t}\n")
	request.Locked.Update = nil
	_, err = bundle.NewPlan(background, u.client(t), request, ui.Discard())
	wantParts(t, err, "https://web.example/extra.yaml has changed since it was locked", "pass --update cash")
}

// TestAddonsThatDoNotResolve: all problems are reported together, and nothing is fetched.
func TestAddonsThatDoNotResolve(t *testing.T) {
	u := shopUpstream(t)
	request := shopRequest(t, u)
	bad := func(name string, change func(*bundle.AddonNeed)) {
		need := request.Addons[0]
		copied := *need.Chart
		need.Chart, need.Manifests, need.Name, need.Namespace = &copied, nil, name, name
		change(&need)
		request.Addons = append(request.Addons, need)
	}
	bad("nochart", func(n *bundle.AddonNeed) { n.Chart.Name = "tell" })
	bad("noversion", func(n *bundle.AddonNeed) { n.Chart.Version = "9.9.9" })
	bad("plainhttp", func(n *bundle.AddonNeed) { n.Chart.Version = "1.0.0" })
	bad("norepository", func(n *bundle.AddonNeed) { n.Chart.Repository = "https://nobody.example/" })
	bad("notag", func(n *bundle.AddonNeed) { n.Chart.Repository, n.Chart.Version = "oci://ghcr.io/shop/charts", "1.2.4" })
	bad("image", func(n *bundle.AddonNeed) {
		*n.Chart = bundle.ChartNeed{Repository: "oci://quay.io/shop", Name: "till", Version: "1"}
	})
	bad("nodir", func(n *bundle.AddonNeed) { *n.Chart = bundle.ChartNeed{Path: "nowhere"} })
	bad("novalues", func(n *bundle.AddonNeed) { n.Values.File = "nothing.yaml" })
	bad("nofile", func(n *bundle.AddonNeed) {
		n.Chart, n.Values, n.Manifests = nil, bundle.Values{}, []string{"none.yaml"}
	})
	bad("noimage", func(n *bundle.AddonNeed) { n.Values = bundle.Values{Text: []byte(`{"image": {"tag": "7"}}`)} })
	bad("twice", func(n *bundle.AddonNeed) {
		n.Namespace = "shop"
		n.Chart, n.Values, n.Manifests = nil, bundle.Values{}, []string{"https://web.example/other.yaml"}
	})
	u.files["web.example/other.yaml"] = []byte("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: c}\n")
	request.Manifests = append(request.Manifests, "https://web.example/gone.yaml")
	u.bytes.Store(0)
	_, err := bundle.NewPlan(background, u.client(t), request, ui.Discard())
	wantParts(t, err,
		"add-on nochart: chart tell 1.2.3 of https://charts.example/stable: the repository has no chart with this name",
		"add-on noversion: chart till 9.9.9 of https://charts.example/stable: the repository does not have this version; it has 1.2.3, 1.0.0",
		"add-on plainhttp: ", "only https and oci are supported",
		"add-on norepository: chart till 1.2.3 of https://nobody.example/: ", "404",
		"add-on notag: chart till 1.2.4 of oci://ghcr.io/shop/charts: does not exist",
		"add-on image: chart till 1 of oci://quay.io/shop: the artifact exists, but is not a Helm chart",
		"add-on nodir: chart nowhere: ", "add-on novalues: read values: ", "add-on nofile: read manifests: ",
		"image quay.io/shop/till:7 (needed by add-on noimage: Deployment noimage/noimage, container till): does not exist",
		"add-on twice: https://web.example/other.yaml, document 1: Secret shop/s is a duplicate with different contents: https://web.example/extra.yaml, document 1 of add-on cash",
		"images.manifests: read manifests: ", "gone.yaml",
	)
}

func TestChartDigestDiffers(t *testing.T) {
	u := shopUpstream(t)
	u.offer(charttest.Archive(t, "till", charttest.Checkout()), strings.Repeat("0", 64))
	_, err := bundle.NewPlan(background, u.client(t), shopRequest(t, u), ui.Discard())
	wantParts(t, err, "till-1.2.3.tgz: SHA-256 is ", ", but 0000")
}

// TestChartOtherThanNamed: the archive contains another chart than requested.
func TestChartOtherThanNamed(t *testing.T) {
	u := shopUpstream(t)
	files := charttest.Checkout()
	files["Chart.yaml"] = "apiVersion: v2\nname: trap\nversion: 1.2.3\n"
	archive := charttest.Archive(t, "till", files)
	u.offer(archive, sha(archive))
	_, err := bundle.NewPlan(background, u.client(t), shopRequest(t, u), ui.Discard())
	wantParts(t, err, "the archive contains chart trap 1.2.3")
}

// TestChartBlobDiffers: a registry returns other bytes than in the manifest.
func TestChartBlobDiffers(t *testing.T) {
	u := shopUpstream(t)
	request := shopRequest(t, u)
	request.Addons[0].Chart.Repository = "oci://ghcr.io/shop/charts"
	other := func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, "/charts/till/blobs/") {
			return false
		}
		_, _ = io.WriteString(w, "other bytes")
		return true
	}
	u.spoil.Store(&other)
	_, err := bundle.NewPlan(background, u.client(t), request, ui.Discard())
	wantParts(t, err, "the archive has SHA-256 ")
}

// TestAddonDirectory packs a chart on this host, which is not locked.
func TestAddonDirectory(t *testing.T) {
	u := shopUpstream(t)
	request := shopRequest(t, u)
	files := charttest.Checkout()
	request.Addons[0].Chart = &bundle.ChartNeed{Path: charttest.Directory(t, files)}
	first, err := bundle.NewPlan(background, u.client(t), request, ui.Discard())
	must(t, err)
	files["README.md"] = "new\n"
	request.Addons[0].Chart.Path = charttest.Directory(t, files)
	request.Locked = &bundle.Locked{Lock: first.Lock}
	second, err := bundle.NewPlan(background, u.client(t), request, ui.Discard())
	must(t, err)
	if a, b := first.Lock.Addons[0], second.Lock.Addons[0]; a.Chart.SHA256 == b.Chart.SHA256 || a.SHA256 != b.SHA256 || a.Chart.Repository != "" {
		t.Errorf("first %+v, second %+v", a, b)
	}
}

func sha(content []byte) string {
	h, _, _ := v1.SHA256(bytes.NewReader(content))
	return h.Hex
}

func contentOf(t *testing.T, b *bundle.Bundle, path string) string {
	t.Helper()
	f, err := b.File(path)
	must(t, err)
	text, err := io.ReadAll(f.Reader())
	must(t, err)
	return string(text)
}

// wantNeeds compares images with the items that need them, joined by |.
func wantNeeds(t *testing.T, l bundle.Lock, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for _, i := range l.Images {
		got[i.Name] = strings.Join(i.NeededBy, "|")
	}
	for image, by := range want {
		if got[image] != by {
			t.Errorf("%s: needed by %q, want %q", image, got[image], by)
		}
	}
}

func wantParts(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is missing in:\n%v", part, err)
		}
	}
}
