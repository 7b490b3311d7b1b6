package bundle_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/internal/ui"
)

// gone makes upstream answer 404 for all contents.
func gone(u *upstream) {
	spoil := func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/v2/" {
			return false
		}
		http.NotFound(w, r)
		return true
	}
	u.spoil.Store(&spoil)
}

// TestEarlier: after upstream has removed all images and files, the lock and an earlier
// bundle give the same bytes again. The plan names their origin.
func TestEarlier(t *testing.T) {
	images := bundletest.StandardImages(t)
	u, o, dir := newUpstream(t, images...), options(t), filepath.Join(t.TempDir(), "first")
	first := u.plan(t, images...)
	_, err := bundle.Write(background, first, dir, o, ui.Discard())
	must(t, err)
	r := u.request(images...)
	r.Locked = &bundle.Locked{Lock: first.Lock}
	gone(u)
	_, err = bundle.NewPlan(background, u.client(t), r, ui.Discard())
	require.Error(t, err, "upstream has removed the images")

	b, err := bundle.Open(dir, bundle.PublicOf(o.Signer))
	must(t, err)
	r.Earlier = bundle.NewEarlier(b)
	defer r.Earlier.Close()
	p, err := bundle.NewPlan(background, u.client(t), r, ui.Discard())
	require.NoError(t, err)
	again, sent := filepath.Join(t.TempDir(), "again"), u.bytes.Load()
	report, err := bundle.Write(background, p, again, o, ui.Discard())
	require.NoError(t, err)
	assert.Equal(t, sent, u.bytes.Load(), "bytes from upstream")
	assert.Zero(t, report.Fetched)
	reused := p.Reused()
	assert.Equal(t, []any{[]string{dir}, report.Reused}, []any{reused.Bundles, reused.Bytes})
	assert.Contains(t, reused.Items, "image "+images[0].Name)
	assert.Contains(t, reused.Items, "file runc")
	for _, name := range []string{"bundle.tar.000", bundle.IndexName} {
		want, err := os.ReadFile(filepath.Join(dir, name))
		must(t, err)
		got, err := os.ReadFile(filepath.Join(again, name))
		must(t, err)
		assert.True(t, string(want) == string(got), "%s differs", name)
	}
}

// TestEarlierSaves: with upstream at hand, an earlier bundle saves the download of its bytes.
// A damaged file comes from upstream.
func TestEarlierSaves(t *testing.T) {
	const layer = 3 << 20 // larger than a part: one of two such layers is outside the damaged part
	images := append(bundletest.StandardImages(t), bundletest.Image{Name: "quay.io/org/large:1", Held: bundletest.RandomImage(t, layer, 1, "amd64")})
	u, o, dir := newUpstream(t, images...), options(t), filepath.Join(t.TempDir(), "first")
	first := u.plan(t, images...)
	_, err := bundle.Write(background, first, dir, o, ui.Discard())
	must(t, err)
	b, err := bundle.Open(dir, bundle.PublicOf(o.Signer))
	must(t, err)
	file, err := b.File("files/runc")
	must(t, err)
	flip(t, filepath.Join(dir, b.Index().Parts[file.Entry().Offset/o.PartSize].Name), file.Entry().Offset%o.PartSize)

	r := u.request(images...)
	r.Earlier = bundle.NewEarlier(b)
	defer r.Earlier.Close()
	p, err := bundle.NewPlan(background, u.client(t), r, ui.Discard())
	must(t, err)
	again := filepath.Join(t.TempDir(), "again")
	report, err := bundle.Write(background, p, again, o, ui.Discard())
	require.NoError(t, err)
	assert.GreaterOrEqual(t, report.Reused, int64(layer))
	assert.Positive(t, report.Fetched, "the damaged file is from upstream")
	now, err := bundle.Open(again, bundle.PublicOf(o.Signer))
	must(t, err)
	defer now.Close()
	must(t, now.Verify(background, ui.Discard()))
}

// flip inverts a bit of a file.
func flip(t *testing.T, path string, at int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	one := make([]byte, 1)
	_, err = f.ReadAt(one, at)
	must(t, err)
	one[0] ^= 1
	_, err = f.WriteAt(one, at)
	must(t, err)
}

// TestEarlierPackages: a repository that has removed a locked package still gives its
// closure, with the package and its metadata from the earlier bundle.
func TestEarlierPackages(t *testing.T) {
	bundletest.Need(t, "createrepo_c", "dnf")
	key, err := rpm.NewKey(time.Unix(1_600_000_000, 0))
	must(t, err)
	u, r := rpmUpstream(t, key)
	p, err := bundle.NewPlan(background, u.client(t), r, ui.Discard())
	must(t, err)
	must(t, p.SignPackages(key))
	o, dir := options(t), filepath.Join(t.TempDir(), "first")
	_, err = bundle.Write(background, p, dir, o, ui.Discard())
	must(t, err)

	newer, _ := rpmUpstream(t, key, "helper")
	u.files = newer.files
	r.Locked = &bundle.Locked{Lock: p.Lock}
	_, err = bundle.NewPlan(background, u.client(t), r, ui.Discard())
	require.ErrorContains(t, err, "helper", "the repository has removed it")
	b, err := bundle.Open(dir, bundle.PublicOf(o.Signer))
	must(t, err)
	r.Earlier = bundle.NewEarlier(b)
	defer r.Earlier.Close()
	p, err = bundle.NewPlan(background, u.client(t), r, ui.Discard())
	require.NoError(t, err)
	must(t, p.SignPackages(key))
	again := filepath.Join(t.TempDir(), "again")
	_, err = bundle.Write(background, p, again, o, ui.Discard())
	require.NoError(t, err)
	assert.Contains(t, p.Reused().Items, "package helper-0:1.0-1.x86_64")
	wantDnf(t, filepath.Join(extract(t, again), bundle.RPMDir("el9")))
}

// TestOtherSite: the second bundle on a USB drive leaves out the files of another site's
// bundle, keeps the name of its own cluster, and is whole with that bundle.
func TestOtherSite(t *testing.T) {
	images := bundletest.StandardImages(t)
	u, o, medium := newUpstream(t, images...), options(t), t.TempDir()
	seoul := filepath.Join(medium, "test")
	_, err := bundle.Write(background, u.plan(t, images...), seoul, o, ui.Discard())
	must(t, err)
	index, err := bundle.ReadIndex(seoul, bundle.PublicOf(o.Signer))
	must(t, err)
	v := bundle.NewInventory(index)
	r := u.request(images...)
	r.Name, r.Base = "busan", &v
	_, err = bundle.NewPlan(background, u.client(t), r, ui.Discard())
	require.ErrorContains(t, err, "the base is for cluster test")
	v.OtherSite = true
	p, err := bundle.NewPlan(background, u.client(t), r, ui.Discard())
	require.NoError(t, err)
	assert.Empty(t, p.Retagged)
	busan := filepath.Join(medium, p.Name)
	report, err := bundle.Write(background, p, busan, o, ui.Discard())
	require.NoError(t, err)
	one, two := openIn(t, seoul, o), openIn(t, busan, o)
	assert.Equal(t, "busan", two.Index().Cluster())
	rest, err := two.Rest([]*bundle.Bundle{one})
	require.NoError(t, err)
	assert.Len(t, rest, 1)
	wantSame(t, bundle.NewView(two, one), one)
	t.Logf("first bundle %d bytes, second bundle %d bytes", index.Parts[0].Size, report.Size)
	assert.Less(t, report.Size, index.Parts[0].Size/10)
}

func openIn(t *testing.T, dir string, o bundle.Options) *bundle.Bundle {
	t.Helper()
	b, err := bundle.Open(dir, bundle.PublicOf(o.Signer))
	must(t, err)
	t.Cleanup(func() { b.Close() })
	return b
}
