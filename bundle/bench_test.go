package bundle_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-containerregistry/pkg/crane"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/ui"
)

// benchBytes is the size of the images in benchImages; AIRGAP_BENCH_MB sets a size
// other than 256 MB.
func benchBytes() int64 {
	if mb, err := strconv.ParseInt(os.Getenv("AIRGAP_BENCH_MB"), 10, 64); err == nil {
		return mb * 1_000_000
	}
	return 256_000_000
}

// benchImages are two images of four equal layers.
func benchImages(b *testing.B) []bundletest.Image {
	random := rand.NewChaCha8([32]byte{})
	image := func() v1.Image {
		image, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: "amd64"})
		must(b, err)
		for range 4 {
			layer := make([]byte, benchBytes()/8)
			random.Read(layer)
			image, err = mutate.AppendLayers(image, static.NewLayer(layer, types.OCILayer))
			must(b, err)
		}
		return image
	}
	return []bundletest.Image{{Name: "example.com/a:1", Held: image()}, {Name: "example.com/b:1", Held: image()}}
}

// BenchmarkFill makes a whole bundle from a registry on loopback; compare with
// BenchmarkCranePull. The sync metric is the time of the disk.
func BenchmarkFill(b *testing.B) {
	images := benchImages(b)
	u := newUpstream(b, images...)
	o := options(b)
	o.PartSize = bundle.DefaultPartSize
	b.SetBytes(benchBytes())
	for b.Loop() {
		report, err := bundle.Write(background, u.plan(b, images...), filepath.Join(b.TempDir(), "stick"), o, ui.Discard())
		must(b, err)
		b.ReportMetric(report.Fill.Seconds(), "fill-s")
		b.ReportMetric(report.Sync.Seconds(), "sync-s")
		b.ReportMetric(report.ReadBack.Seconds(), "readback-s")
	}
}

// BenchmarkCranePull does the work of crane pull --format=oci from the same registry.
func BenchmarkCranePull(b *testing.B) {
	images := benchImages(b)
	u := newUpstream(b, images...)
	b.SetBytes(benchBytes())
	for b.Loop() {
		pulled := map[string]v1.Image{}
		for _, image := range images {
			name := u.host() + "/" + image.Name
			one, err := crane.Pull(name, crane.WithTransport(u.Client().Transport))
			must(b, err)
			pulled[name] = one
		}
		must(b, crane.MultiSaveOCI(pulled, filepath.Join(b.TempDir(), "layout")))
	}
}

// BenchmarkVerify reads and checks a whole bundle from the page cache.
func BenchmarkVerify(b *testing.B) {
	images := benchImages(b)
	u := newUpstream(b, images...)
	o, dir := options(b), b.TempDir()
	_, err := bundle.Write(background, u.plan(b, images...), dir, o, ui.Discard())
	must(b, err)
	b.SetBytes(benchBytes())
	for b.Loop() {
		opened, err := bundle.Open(dir, bundle.PublicOf(o.Signer))
		must(b, err)
		must(b, opened.Verify(background, ui.Discard()))
		must(b, opened.Close())
	}
}
