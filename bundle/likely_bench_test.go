package bundle_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/ui"
)

// BenchmarkPlanLikely plans the corpus of package workload with registries that answer
// after 20 ms. The first run excludes every image that no pod pulls with images.ignore,
// the plan without candidates. The second run has all candidates. The third run has
// these images in images.list, as a user would have to write them: the same bundle
// without a search.
func BenchmarkPlanLikely(b *testing.B) {
	files, err := filepath.Glob("workload/testdata/corpus/*.yaml")
	must(b, err)
	dir := b.TempDir()
	u := newUpstream(b)
	image := bundletest.RandomImage(b, 500, 1, "amd64")
	var needs []string
	digest, err := image.Digest()
	must(b, err)
	someDigest := regexp.MustCompile(`sha256:[0-9a-f]{64}`)
	needed := regexp.MustCompile(`(?m)^# needed: (.*)$`)
	r := u.request()
	r.Dir, r.KubeVersion = dir, "1.36.3"
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(b, err)
		text = someDigest.ReplaceAll(text, []byte(digest.String()))
		text = bytes.ReplaceAll(text, []byte(".local:5000"), []byte(".local")) // a mirror's path has no port
		must(b, os.WriteFile(filepath.Join(dir, filepath.Base(file)), text, 0o600))
		r.Manifests = append(r.Manifests, filepath.Base(file))
		for _, m := range needed.FindAllStringSubmatch(string(text), -1) {
			needs = append(needs, m[1])
		}
	}
	serve := oneImage(b, image)
	var asked atomic.Int64
	spoil := func(w http.ResponseWriter, r *http.Request) bool {
		if !isRegistryPath(r) {
			return false
		}
		asked.Add(1)
		time.Sleep(20 * time.Millisecond)
		serve(w, r)
		return true
	}
	u.spoil.Store(&spoil)
	ignored := []bundle.IgnoredImage{}
	for _, pattern := range []string{"*", "*/*", "*/*/*", "*/*/*/*", "*/*/*/*/*", "*/*/*/*/*/*"} {
		ignored = append(ignored, bundle.IgnoredImage{Image: pattern, Reason: "measured without"})
	}
	for _, one := range []struct {
		name   string
		change func(*bundle.Request)
	}{
		{"ignored", func(r *bundle.Request) { r.Ignore = ignored }},
		{"found", func(*bundle.Request) {}},
		{"listed", func(r *bundle.Request) {
			r.Ignore = ignored
			for _, image := range needs {
				r.Images = append(r.Images, bundle.Need{Reference: image, NeededBy: "images.list"})
			}
		}},
	} {
		b.Run(one.name, func(b *testing.B) {
			request := r
			one.change(&request)
			images := 0
			asked.Store(0)
			for b.Loop() {
				p, err := bundle.NewPlan(background, u.client(b), request, ui.Discard())
				must(b, err)
				images = len(p.Lock.Images)
			}
			b.ReportMetric(float64(asked.Load())/float64(b.N), "requests/op")
			b.ReportMetric(float64(images), "images")
		})
	}
}

func isRegistryPath(r *http.Request) bool { return len(r.URL.Path) > 4 && r.URL.Path[:4] == "/v2/" }

// oneImage returns the same image for every repository and tag.
func oneImage(b *testing.B, image v1.Image) http.HandlerFunc {
	b.Helper()
	path := regexp.MustCompile(`^/v2/.*/(manifests|blobs)/(.*)$`)
	raw, err := image.RawManifest()
	must(b, err)
	config, err := image.RawConfigFile()
	must(b, err)
	mediaType, err := image.MediaType()
	must(b, err)
	return func(w http.ResponseWriter, r *http.Request) {
		m := path.FindStringSubmatch(r.URL.Path)
		switch {
		case m == nil:
			w.WriteHeader(http.StatusOK)
		case m[1] == "manifests":
			w.Header().Set("Content-Type", string(mediaType))
			_, _ = w.Write(raw)
		default:
			_, _ = w.Write(config)
		}
	}
}
