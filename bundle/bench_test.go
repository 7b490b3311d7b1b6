package bundle_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/crane"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/ui"
)

// benchImages are 256 MB in layers of 32 MB.
func benchImages(b *testing.B) []bundletest.Image {
	return []bundletest.Image{
		{Name: "example.com/a:1", Held: bundletest.RandomImage(b, 32_000_000, 4, "amd64")},
		{Name: "example.com/b:1", Held: bundletest.RandomImage(b, 32_000_000, 4, "amd64")},
	}
}

const benchBytes = 256_000_000

// BenchmarkFill makes a whole bundle from a registry on loopback; compare
// with BenchmarkCranePull. The sync metric is what the disk takes of it.
func BenchmarkFill(b *testing.B) {
	images := benchImages(b)
	u := newUpstream(b, images...)
	o := options(b)
	o.PartSize = bundle.DefaultPartSize
	b.SetBytes(benchBytes)
	for b.Loop() {
		report, err := bundle.Write(background, u.plan(b, images...), filepath.Join(b.TempDir(), "stick"), o, ui.Discard())
		must(b, err)
		b.ReportMetric(report.Fill.Seconds(), "fill-s")
		b.ReportMetric(report.Sync.Seconds(), "sync-s")
		b.ReportMetric(report.ReadBack.Seconds(), "readback-s")
	}
}

// BenchmarkCranePull does what crane pull --format=oci does, from the same
// registry.
func BenchmarkCranePull(b *testing.B) {
	images := benchImages(b)
	u := newUpstream(b, images...)
	b.SetBytes(benchBytes)
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
	b.SetBytes(benchBytes)
	for b.Loop() {
		opened, err := bundle.Open(dir, &o.Signer.PublicKey)
		must(b, err)
		must(b, opened.Verify(background, ui.Discard()))
		must(b, opened.Close())
	}
}
