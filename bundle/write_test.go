package bundle_test

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/bundle/fetch"
	"airgap.dev/airgap/internal/ui"
)

var background = context.Background()

func TestWriteThenOpen(t *testing.T) {
	images := bundletest.StandardImages(t)
	u := newUpstream(t, images...)
	o, dir := options(t), filepath.Join(t.TempDir(), "stick")
	report, err := bundle.Write(background, u.plan(t, images...), dir, o, ui.Discard())
	must(t, err)
	if report.Complete || report.Parts < 2 || report.Fetched == 0 || report.Kept != 0 {
		t.Errorf("report: %+v", report)
	}
	b, err := bundle.Open(dir, bundle.PublicOf(o.Signer))
	must(t, err)
	defer b.Close()
	must(t, b.Verify(background, ui.Discard()))
	lock := b.Index().Lock
	if len(lock.Images) != 3 || len(lock.Files) != 1 || lock.Images[2].NeededBy[0] != "images" {
		t.Errorf("lock: %+v", lock)
	}
	f, err := b.File("files/runc")
	must(t, err)
	content, err := io.ReadAll(f.Reader())
	must(t, err)
	if string(content) != string(u.files["github.com/x/releases/runc.amd64"]) {
		t.Error("files/runc differs")
	}
	wantImages(t, extract(t, dir), images)
	wantSums(t, dir)

	if info, err := os.Stat(filepath.Join(dir, ".airgap-partial")); err == nil {
		t.Errorf("not removed: %v", info)
	}
	again, err := bundle.Write(background, u.plan(t, images...), dir, o, ui.Discard())
	must(t, err)
	if !again.Complete || again.Fetched != 0 {
		t.Errorf("second run: %+v", again)
	}
}

func TestSameLockSameBytes(t *testing.T) {
	images := bundletest.StandardImages(t)
	u := newUpstream(t, images...)
	o := options(t)
	var first map[string]string
	for range 2 {
		dir := t.TempDir()
		_, err := bundle.Write(background, u.plan(t, images...), dir, o, ui.Discard())
		must(t, err)
		sums := hashAll(t, dir)
		if first == nil {
			first = sums
		}
		for name, sum := range sums {
			if first[name] != sum {
				t.Errorf("%s differs between two runs", name)
			}
		}
	}
}

// wantImages reads the layout with another library.
func wantImages(t *testing.T, dir string, images []bundletest.Image) {
	t.Helper()
	path, err := layout.FromPath(filepath.Join(dir, "oci"))
	must(t, err)
	index, err := path.ImageIndex()
	must(t, err)
	manifest, err := index.IndexManifest()
	must(t, err)
	for i, want := range images {
		got := manifest.Manifests[i]
		if got.Annotations["org.opencontainers.image.ref.name"] != want.Name {
			t.Errorf("image %d has name %v, want %s", i, got.Annotations, want.Name)
		}
		digest, err := want.Held.Digest()
		must(t, err)
		image, err := path.Image(digest)
		must(t, err)
		must(t, validate.Image(image))
		if got.Digest != digest {
			t.Errorf("%s points to %s, want the manifest of the platform %s", want.Name, got.Digest, digest)
		}
		if want.Index == nil {
			continue
		}
		kept, err := v1.NewHash(got.Annotations["dev.airgap.index"])
		must(t, err)
		raw, err := path.Bytes(kept)
		must(t, err)
		upstreams, err := want.Index.RawManifest()
		must(t, err)
		if string(raw) != string(upstreams) {
			t.Errorf("%s: the index differs from upstream", want.Name)
		}
	}
}

// extract does the work of "cat bundle.tar.* | tar x".
func extract(t *testing.T, dir string) string {
	t.Helper()
	parts, err := filepath.Glob(filepath.Join(dir, "bundle.tar.*"))
	must(t, err)
	var readers []io.Reader
	for _, p := range parts {
		f, err := os.Open(p)
		must(t, err)
		defer f.Close()
		readers = append(readers, f)
	}
	to := t.TempDir()
	r := tar.NewReader(io.MultiReader(readers...))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return to
		}
		must(t, err)
		content, err := io.ReadAll(r)
		must(t, err)
		path := filepath.Join(to, h.Name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, content, fs.FileMode(h.Mode)))
	}
}

func hashAll(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	sums := map[string]string{}
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		must(t, err)
		sums[e.Name()] = fmt.Sprintf("%x", sha256.Sum256(content))
	}
	return sums
}

// wantSums checks the sums with common tools.
func wantSums(t *testing.T, dir string) {
	t.Helper()
	tool(t, dir, "sha256sum", "--strict", "-c", "SHA256SUMS")
	tool(t, dir, "openssl", "dgst", "-sha256", "-verify", "airgap.pub", "-signature", "SHA256SUMS.sig", "SHA256SUMS")
}

func tool(t *testing.T, dir string, args ...string) {
	t.Helper()
	bundletest.Need(t, args[0])
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func TestSkopeoReadsTheLayout(t *testing.T) {
	images := bundletest.StandardImages(t)
	u := newUpstream(t, images...)
	dir := t.TempDir()
	_, err := bundle.Write(background, u.plan(t, images...), dir, options(t), ui.Discard())
	must(t, err)
	tree := extract(t, dir)
	for i, image := range images {
		tool(t, tree, "skopeo", "--insecure-policy", "copy", "--quiet", "oci:oci:"+image.Name, fmt.Sprintf("dir:%s/out%d", tree, i))
	}
}

func TestPlanReportsEveryProblem(t *testing.T) {
	arm := bundletest.Image{Name: "quay.io/x/arm:1", Held: bundletest.RandomImage(t, 100, 1, "arm64")}
	u := newUpstream(t, arm)
	r := u.request(arm)
	r.Images = append(r.Images, bundle.Need{Reference: "registry.k8s.io/pause:9", NeededBy: "kubelet"}, bundle.Need{Reference: "A?", NeededBy: "images"})
	r.Files = append(r.Files, bundle.FileNeed{Name: "none", URL: "https://github.com/none", SHA256: strings.Repeat("0", 64), NeededBy: "network"})
	_, err := bundle.NewPlan(background, u.client(t), r, ui.Discard())
	if err == nil {
		t.Fatal("no error")
	}
	for _, says := range []string{
		"image quay.io/x/arm:1 (needed by images): the image is for linux/arm64 only, want linux/amd64",
		"image registry.k8s.io/pause:9 (needed by kubelet): does not exist in " + u.host(),
		`image reference "A?"`,
		"file none (needed by network): GET", "404",
	} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%q is missing in:\n%v", says, err)
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	images := bundletest.StandardImages(t)[1:]
	u := newUpstream(t, images...)
	foreign := func(t *testing.T, dir string, _ *bundle.Options) {
		must(t, os.WriteFile(filepath.Join(dir, "holiday.jpg"), nil, 0o644))
	}
	other := func(t *testing.T, dir string, o *bundle.Options) {
		_, err := bundle.Write(background, u.plan(t, images[:1]...), dir, *o, ui.Discard())
		must(t, err)
	}
	tests := []struct {
		name    string
		prepare func(t *testing.T, dir string, o *bundle.Options)
		says    string
	}{
		{"foreign file", foreign, "has holiday.jpg"},
		{"another bundle", other, "another finished bundle (image registry.k8s.io/pause:3.10.2 is new)"},
		{"no space", func(_ *testing.T, _ string, o *bundle.Options) { *o = o.WithSpace(1000, 0) }, "no space: needs"},
		{"FAT32", func(_ *testing.T, _ string, o *bundle.Options) { *o = o.WithSpace(1<<40, 1<<16) }, "smaller part size"},
		{"part size", func(_ *testing.T, _ string, o *bundle.Options) { o.PartSize = 1000 }, "multiple of"},
		{"unmarked part", func(t *testing.T, dir string, _ *bundle.Options) {
			must(t, os.WriteFile(filepath.Join(dir, "bundle.tar.000"), nil, 0o644))
		}, "not finished and not marked"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir, o := t.TempDir(), options(t)
			tt.prepare(t, dir, &o)
			before := hashAll(t, dir)
			_, err := bundle.Write(background, u.plan(t, images...), dir, o, ui.Discard())
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Fatalf("got %v, want %q", err, tt.says)
			}
			if after := hashAll(t, dir); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Errorf("the directory was changed: %v", after)
			}
		})
	}
}

func TestRefusedStickIsNotStarted(t *testing.T) {
	images := bundletest.StandardImages(t)[:1]
	u, sub := newUpstream(t, images...), filepath.Join(t.TempDir(), "sub")
	dir := filepath.Join(sub, "bank")
	_, err := bundle.Write(background, u.plan(t, images...), dir, options(t).WithSpace(1000, 0), ui.Discard())
	if err == nil || !strings.Contains(err.Error(), "no space: needs") {
		t.Fatalf("got %v", err)
	}
	if _, err := os.Lstat(sub); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory was left behind: %v", err)
	}
	if _, err := bundle.Write(background, u.plan(t, images...), dir, options(t), ui.Discard()); err != nil {
		t.Errorf("into a new directory: %v", err)
	}
}

func TestBrokenConnectionResumes(t *testing.T) {
	images := bundletest.StandardImages(t)
	u := newUpstream(t, images...)
	p := u.plan(t, images...)
	var cuts int
	cut := func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Range") != "" || !strings.Contains(r.URL.Path, "/runc.amd64") {
			return false
		}
		cuts++
		content := u.files["github.com/x/releases/runc.amd64"]
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		w.Write(content[:300_000])
		panic(http.ErrAbortHandler)
	}
	u.spoil.Store(&cut)
	o, dir := options(t), t.TempDir()
	_, err := bundle.Write(background, p, dir, o, ui.Discard())
	must(t, err)
	if cuts != 1 {
		t.Errorf("cut %d times", cuts)
	}
}

func TestServersThatMisbehave(t *testing.T) {
	images := bundletest.StandardImages(t)[:1]
	u := newUpstream(t, images...)
	p := u.plan(t, images...)
	blob := func(do func(http.ResponseWriter)) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.Path, "/blobs/") {
				do(w)
				return true
			}
			return false
		}
	}
	tests := []struct {
		name string
		do   func(http.ResponseWriter)
		says string
	}{
		{"closes at once", func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, "EOF"},
		{"closes repeatedly", func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "100000")
			w.Write(make([]byte, 1000))
			panic(http.ErrAbortHandler)
		}, "EOF"},
		{"other bytes", func(w http.ResponseWriter) { w.Write(make([]byte, 4<<20)) }, "longer than"},
		{"too short", func(w http.ResponseWriter) { w.Write([]byte("short")) }, "ends after 5 of"},
		{"always 500", func(w http.ResponseWriter) { w.WriteHeader(500) }, "500 Internal Server Error"},
		{"gone", func(w http.ResponseWriter) { w.WriteHeader(404) }, "404 Not Found"},
		{"stalls", func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "100000")
			w.(http.Flusher).Flush()
			<-u.stalled
		}, "no answer within 2s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			spoil := blob(tt.do)
			u.spoil.Store(&spoil)
			dir, o := t.TempDir(), options(t)
			_, err := bundle.Write(background, p, dir, o, ui.Discard())
			if err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), "of image docker.io/library/nginx:1.27") {
				t.Fatalf("got %v, want %q", err, tt.says)
			}
			if _, err := bundle.Open(dir, bundle.PublicOf(o.Signer)); !errors.Is(err, bundle.ErrPartial) {
				t.Errorf("an incomplete bundle opens: %v", err)
			}
		})
	}
}

func TestUntrustedMirrorIsReportedOnce(t *testing.T) {
	images := bundletest.StandardImages(t)[1:2]
	u := newUpstream(t, images...)
	s := u.sources()
	s.CA = "" // the CA of a TLS-inspecting proxy is not configured
	c, err := fetch.NewClient(s)
	must(t, err)
	began := time.Now()
	_, err = bundle.NewPlan(background, c, u.request(images...), ui.Discard())
	if err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("got %v", err)
	}
	if took := time.Since(began); took > 400*time.Millisecond {
		t.Errorf("retried for %s", took)
	}
}
