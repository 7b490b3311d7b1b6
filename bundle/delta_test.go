package bundle_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/bundle/papers"
	"airgap.dev/airgap/internal/ui"
)

// before is a bundle that is already on the servers, and the later state of upstream:
// the first image has one more layer under its tag, and the file is different.
type before struct {
	u      *upstream
	o      bundle.Options
	images []bundletest.Image
	dir    string // directory of the bundle
	first  *bundle.Plan
	now    bundle.Request
}

func newBefore(t *testing.T) *before {
	t.Helper()
	images := bundletest.StandardImages(t)
	w := &before{u: newUpstream(t, images...), o: options(t), images: images, dir: filepath.Join(t.TempDir(), "test")}
	w.first = w.u.plan(t, images...)
	w.write(t, w.first, w.dir)

	more, err := random.Layer(50_000, "application/vnd.oci.image.layer.v1.tar+gzip")
	must(t, err)
	images[0].Held, err = mutate.AppendLayers(images[0].Held, more)
	must(t, err)
	w.u.push(t, images[0])
	w.now = w.u.request(images...)
	w.now.Created = w.now.Created.Add(time.Hour)
	other := []byte("another runc\n")
	w.u.files["github.com/x/releases/runc.amd64"] = other
	w.u.files["github.com/x/releases/sums"] = fmt.Appendf(nil, "%s *runc.amd64\n", hexSum(other))
	return w
}

func (w *before) write(t *testing.T, p *bundle.Plan, dir string) *bundle.Report {
	t.Helper()
	report, err := bundle.Write(background, p, dir, w.o, ui.Discard())
	must(t, err)
	return report
}

// inventory is read only from the signed index.
func (w *before) inventory(t *testing.T, dir string) *bundle.Inventory {
	t.Helper()
	bare := t.TempDir()
	for _, name := range []string{bundle.IndexName, bundle.SumsName, bundle.SignatureName} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(bare, name), text, 0o644))
	}
	index, err := bundle.ReadIndex(bare, bundle.PublicOf(w.o.Signer))
	must(t, err)
	v := bundle.NewInventory(index)
	return &v
}

func (w *before) delta(t *testing.T) *bundle.Plan {
	t.Helper()
	w.now.Base = w.inventory(t, w.dir)
	p, err := bundle.NewPlan(background, w.u.client(t), w.now, ui.Discard())
	must(t, err)
	return p
}

func (w *before) open(t *testing.T, dir string) *bundle.Bundle {
	t.Helper()
	b, err := bundle.Open(dir, bundle.PublicOf(w.o.Signer))
	must(t, err)
	t.Cleanup(func() { b.Close() })
	return b
}

// TestDelta: a delta contains one layer and one file. With its base it is the same as a
// complete bundle.
func TestDelta(t *testing.T) {
	w := newBefore(t)
	p := w.delta(t)
	if want := []bundle.Retagged{{Name: w.first.Lock.Images[0].Name, Was: w.first.Lock.Images[0].Digest, Is: p.Lock.Images[0].Digest}}; !slices.Equal(p.Retagged, want) {
		t.Errorf("moved: %+v, want %+v", p.Retagged, want)
	}
	if !strings.HasPrefix(p.Name, "test-delta-") {
		t.Errorf("the delta has name %s", p.Name)
	}
	dir := filepath.Join(t.TempDir(), p.Name)
	report := w.write(t, p, dir)
	if report.Size > 200_000 {
		t.Errorf("%d bytes for one layer of 50 KB", report.Size)
	}
	d, base := w.open(t, dir), w.open(t, w.dir)
	must(t, d.Verify(background, ui.Discard()))
	wantSums(t, dir)
	if x := d.Index(); x.FormatVersion != bundle.DeltaVersion || x.Cluster() != "test" || x.Name != p.Name || len(x.Left()) == 0 {
		t.Errorf("index: version %d of %s, %s omits %d", x.FormatVersion, x.Cluster(), x.Name, len(x.Left()))
	}

	rest, err := d.Rest([]*bundle.Bundle{base})
	must(t, err)
	if !slices.Equal(rest, []*bundle.Bundle{base}) {
		t.Errorf("its base is %v", rest)
	}
	w.now.Base = nil
	whole, err := bundle.NewPlan(background, w.u.client(t), w.now, ui.Discard())
	must(t, err)
	wholeDir := filepath.Join(t.TempDir(), "whole")
	w.write(t, whole, wholeDir)
	wantSame(t, bundle.NewView(d, base), w.open(t, wholeDir))
	if s, want := d.Index().Summary(), w.open(t, wholeDir).Index().Summary(); s.Images != want.Images || s.Files != want.Files || s.Base.Count != len(d.Index().Left()) {
		t.Errorf("summary %+v, of the complete bundle %+v", s, want)
	}
}

// wantSame requires every file of the bundle in the view.
func wantSame(t *testing.T, v *bundle.View, want *bundle.Bundle) {
	t.Helper()
	for _, e := range want.Index().Files {
		f, err := v.File(e.Path)
		if err != nil {
			t.Errorf("the view: %v", err)
			continue
		}
		content, err := io.ReadAll(f.Reader())
		if err != nil || hexSum(content) != e.SHA256 {
			t.Errorf("%s is different in the view: %v", e.Path, err)
		}
	}
}

func TestSameDeltaSameBytes(t *testing.T) {
	w := newBefore(t)
	var first map[string]string
	for range 2 {
		p, dir := w.delta(t), t.TempDir()
		w.write(t, p, filepath.Join(dir, p.Name))
		sums := hashAll(t, filepath.Join(dir, p.Name))
		if first == nil {
			first = sums
		}
		if fmt.Sprint(sums) != fmt.Sprint(first) {
			t.Error("the same lock on the same base gives different bytes")
		}
	}
}

// TestInterruptedDeltaContinues: a delta continues as a complete bundle does.
func TestInterruptedDeltaContinues(t *testing.T) {
	w := newBefore(t)
	name := w.delta(t).Name
	want, dir := filepath.Join(t.TempDir(), name), filepath.Join(t.TempDir(), name)
	size := w.write(t, w.delta(t), want).Size
	random := rand.New(rand.NewSource(1))
	for range 3 {
		ctx, cancel := context.WithCancel(background)
		_, err := bundle.Write(ctx, w.delta(t), dir, w.o, cancelAfterBytes(cancel, random.Int63n(size)))
		cancel()
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	w.write(t, w.delta(t), dir)
	if fmt.Sprint(hashAll(t, dir)) != fmt.Sprint(hashAll(t, want)) {
		t.Error("differs from the uninterrupted delta")
	}
}

// TestDeltaOnDelta: a delta has both earlier bundles as its base.
func TestDeltaOnDelta(t *testing.T) {
	w := newBefore(t)
	p := w.delta(t)
	dir := filepath.Join(t.TempDir(), p.Name)
	w.write(t, p, dir)
	w.now.Base = w.inventory(t, dir)
	w.now.Created = w.now.Created.Add(time.Hour)
	second, err := bundle.NewPlan(background, w.u.client(t), w.now, ui.Discard())
	must(t, err)
	if !slices.Equal(second.Base.Bundles, []string{p.Name, "test"}) || len(second.Retagged) > 0 {
		t.Errorf("the base of the second delta is %v, moved: %v", second.Base.Bundles, second.Retagged)
	}
	secondDir := filepath.Join(t.TempDir(), second.Name)
	w.write(t, second, secondDir)
	top, middle, base := w.open(t, secondDir), w.open(t, dir), w.open(t, w.dir)
	rest, err := top.Rest([]*bundle.Bundle{middle, base})
	must(t, err)
	if len(rest) != 2 {
		t.Errorf("its base has %d bundles", len(rest))
	}
	if _, err := top.Rest([]*bundle.Bundle{base}); !errors.Is(err, bundle.ErrBase) {
		t.Errorf("without the first delta: %v", err)
	}
}

func TestDeltaWithoutItsBase(t *testing.T) {
	w := newBefore(t)
	p := w.delta(t)
	dir := filepath.Join(t.TempDir(), p.Name)
	w.write(t, p, dir)
	d := w.open(t, dir)
	other := bundletest.New(t).Open(t) // images with the same names
	for what, others := range map[string][]*bundle.Bundle{"nothing": nil, "another bundle": {other}, "itself": {d}} {
		_, err := d.Rest(others)
		var missing *bundle.BaseError
		if !errors.As(err, &missing) || !errors.Is(err, bundle.ErrBase) {
			t.Errorf("over %s: %v", what, err)
			continue
		}
		for _, want := range []string{p.Name, "image docker.io/library/nginx:1.27", "image registry.k8s.io/pause:3.10.2"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("over %s: %q does not contain %q", what, err, want)
			}
		}
		if !strings.Contains(missing.Hint(), "the files are in bundle test") {
			t.Errorf("hint: %s", missing.Hint())
		}
	}
}

// TestViewTakesTheRightVersion: a delta returns to the file of its base. The view must
// not use the file of a bundle in between.
func TestViewTakesTheRightVersion(t *testing.T) {
	w := newBefore(t)
	base := w.open(t, w.dir)
	p := w.delta(t)
	dir := filepath.Join(t.TempDir(), p.Name)
	w.write(t, p, dir)
	between := w.open(t, dir)

	back := w.u.request(w.images...) // the original file
	back.Created = w.now.Created.Add(time.Hour)
	back.Base = w.inventory(t, w.dir)
	again, err := bundle.NewPlan(background, w.u.client(t), back, ui.Discard())
	must(t, err)
	againDir := filepath.Join(t.TempDir(), again.Name)
	w.write(t, again, againDir)
	v := bundle.NewView(bundle.NewestFirst([]*bundle.Bundle{base, w.open(t, againDir), between})...)
	f, err := v.File("files/runc")
	must(t, err)
	if f.Entry().SHA256 != w.first.Lock.Files[0].SHA256 {
		t.Error("the view has the file of the bundle in between")
	}
}

func TestDeltaIsRefused(t *testing.T) {
	w := newBefore(t)
	base := w.inventory(t, w.dir)
	tests := []struct {
		says  string
		spoil func(r *bundle.Request, v *bundle.Inventory)
	}{
		{"the base is for cluster shop, but this configuration is for test", func(_ *bundle.Request, v *bundle.Inventory) { v.Cluster = "shop" }},
		{"set the clock", func(r *bundle.Request, _ *bundle.Inventory) { r.Created = r.Created.AddDate(-1, 0, 0) }},
	}
	for _, tt := range tests {
		r, v := w.now, *base
		tt.spoil(&r, &v)
		r.Base = &v
		if _, err := bundle.NewPlan(background, w.u.client(t), r, ui.Discard()); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("got %v, want %q", err, tt.says)
		}
	}
	r := w.now
	r.Base, r.Created = base, base.Newest.Add(300*time.Millisecond)
	p, err := bundle.NewPlan(background, w.u.client(t), r, ui.Discard())
	must(t, err)
	if !p.Created.After(base.Newest) {
		t.Errorf("the delta was created at %s, its base in the same second at %s", p.Created, base.Newest)
	}
}

// TestDeltaReport: the report marks files that are not on the USB drive.
func TestDeltaReport(t *testing.T) {
	w := newBefore(t)
	p := w.delta(t)
	page, err := papers.Report(p, "SHA256:key")
	must(t, err)
	sbom, err := papers.SBOM(p)
	must(t, err)
	changed, same := p.Lock.Images[0].Name, p.Lock.Images[2].Name
	if text := string(page); !strings.Contains(text, same+" (in the base)") || strings.Contains(text, changed+" (in the base)") || !strings.Contains(text, "already have them from test") {
		t.Errorf("the page does not mark the files in the base:\n%s", text)
	}
	if n := strings.Count(string(sbom), "not in this delta"); n != 2 {
		t.Errorf("the SBOM marks %d images, want 2", n)
	}
}

func hexSum(content []byte) string { return fmt.Sprintf("%x", sha256.Sum256(content)) }
