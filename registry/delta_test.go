package registry

import (
	"crypto/ecdsa"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/validate"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
)

func storeOf(t *testing.T, fixtures ...*bundletest.Fixture) Store {
	t.Helper()
	s := Store{Dir: filepath.Join(t.TempDir(), "store")}
	for _, f := range fixtures {
		_, err := s.Import(t.Context(), f.Open(t), ui.Discard(), &f.Key.PublicKey)
		must(t, err)
	}
	return s
}

// mustOpen opens the bundles of the store. All must be intact.
func (s Store) mustOpen(t *testing.T, key *ecdsa.PublicKey) []*bundle.Bundle {
	t.Helper()
	bundles, err := s.Open(key)
	must(t, err)
	t.Cleanup(func() { closeAll(bundles) })
	return bundles
}

// TestBaseAndDeltaAreOneView pulls images of the base and of the delta, and the image to which the
// moved tag pointed before.
func TestBaseAndDeltaAreOneView(t *testing.T) {
	base, delta := bundletest.BaseAndDelta(t)
	r := start(t, storeOf(t, base, delta).mustOpen(t, &base.Key.PublicKey)...)
	older, err := base.Images[0].Held.Digest()
	must(t, err)
	newer, err := delta.Images[0].Held.Digest()
	must(t, err)
	shared, err := base.Images[2].Held.Digest()
	must(t, err)
	for ref, want := range map[string]string{
		"docker.io/library/nginx:1.27":              newer.String(),
		"docker.io/library/nginx@" + newer.String(): newer.String(),
		"docker.io/library/nginx@" + older.String(): older.String(),
		"registry.k8s.io/pause:3.10.2":              shared.String(),
		"registry.k8s.io/pause@" + shared.String():  shared.String(),
	} {
		image, err := r.pull(t, ref)
		if err != nil {
			t.Errorf("pull %s: %v", ref, err)
			continue
		}
		if err := validate.Image(image); err != nil {
			t.Errorf("%s: %v", ref, err)
		}
		if got, _ := image.Digest(); got.String() != want {
			t.Errorf("%s is %s, want %s", ref, got, want)
		}
	}
	for path, want := range map[string]string{"/files/hello.txt": "hello\n", "/rpm/el9/Packages/socat-1.0-1.el9.x86_64.rpm": strings.Repeat("socat", 1000)} {
		resp, body, err := r.get(t, http.MethodGet, path)
		if err != nil || resp.StatusCode != http.StatusOK || string(body) != want {
			t.Errorf("%s: %s, %d bytes, %v", path, resp.Status, len(body), err)
		}
	}
}

// TestDeltaNeedsItsBase: without its base, Import writes nothing and names the missing content. With
// its base, the delta is imported.
func TestDeltaNeedsItsBase(t *testing.T) {
	base, delta := bundletest.BaseAndDelta(t)
	key := &base.Key.PublicKey
	other := bundletest.NewWith(t, "other", bundletest.Image{Name: "quay.io/x/y:1", Held: bundletest.RandomImage(t, 100, 1, "amd64")})
	for name, s := range map[string]Store{"an empty store": storeOf(t), "another bundle": storeOf(t, other)} {
		before, _ := os.ReadDir(s.Dir)
		_, err := s.Import(t.Context(), delta.Open(t), ui.Discard(), key, &other.Key.PublicKey)
		if !errors.Is(err, bundle.ErrBase) || !strings.Contains(err.Error(), "image registry.k8s.io/pause:3.10.2") {
			t.Errorf("into %s: %v", name, err)
		}
		if after, _ := os.ReadDir(s.Dir); len(after) != len(before) {
			t.Errorf("%s was changed: %v", name, after)
		}
		if _, err := s.View(delta.Open(t), key, &other.Key.PublicKey); !errors.Is(err, bundle.ErrBase) {
			t.Errorf("the view over %s: %v", name, err)
		}
	}
	s := storeOf(t, base, delta)
	v, err := s.View(delta.Open(t), key)
	must(t, err)
	defer v.Close()
	if len(v.Bundles()) != 2 {
		t.Errorf("the view has %d bundles", len(v.Bundles()))
	}
	named, err := s.Named("test-delta-1", key)
	must(t, err)
	defer named.Close()
	f, err := named.File("files/hello.txt")
	must(t, err)
	if text, err := io.ReadAll(f.Reader()); err != nil || string(text) != "hello\n" {
		t.Errorf("hello.txt of the base, through the delta: %q, %v", text, err)
	}
	if _, err := s.Named("none", key); err == nil || !strings.Contains(err.Error(), "find bundle none") {
		t.Errorf("an unknown name: %v", err)
	}
}

// TestBaseGoesBad: deltas of a damaged base are not served either. Other bundles are.
func TestBaseGoesBad(t *testing.T) {
	base, delta := bundletest.BaseAndDelta(t)
	second := delta.Delta(t, "test-delta-2", delta.Images...)
	other := bundletest.NewWith(t, "other", bundletest.Image{Name: "quay.io/x/y:1", Held: bundletest.RandomImage(t, 100, 1, "amd64")})
	s := storeOf(t, base, delta, second, other)
	must(t, os.Truncate(filepath.Join(s.Dir, "test", "bundle.tar.000"), 5))
	bundles, err := s.Open(&base.Key.PublicKey, &other.Key.PublicKey)
	defer closeAll(bundles)
	if len(bundles) != 1 || bundles[0].Index().Name != "other" {
		t.Errorf("opened %d bundles", len(bundles))
	}
	for _, want := range []string{"bundle.tar.000", "delta test-delta-1 requires", "delta test-delta-2 requires"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not contain %q", err, want)
		}
	}
}

// TestStoreStepBringsTheBaseFirst: a joining control-plane host copies base and delta from another
// one, the base first.
func TestStoreStepBringsTheBaseFirst(t *testing.T) {
	base, delta := bundletest.BaseAndDelta(t)
	key := &base.Key.PublicKey
	r := start(t, storeOf(t, base, delta).mustOpen(t, key)...)
	ca, err := os.ReadFile(r.pki.CAFile())
	must(t, err)
	client, err := NewClient(r.addr, ca)
	must(t, err)
	v, err := client.View(t.Context(), "test-delta-1", key)
	must(t, err)
	defer v.Close()
	s := Store{Dir: filepath.Join(t.TempDir(), "store")}
	left, err := s.Left(v, key)
	must(t, err)
	want := base.Open(t).Index().Summary().Size + delta.Open(t).Index().Summary().Size
	if left != want {
		t.Errorf("%d bytes are left to copy, want %d", left, want)
	}
	storeStep := StoreStep(s, v, []*ecdsa.PublicKey{key}, ui.Discard())
	wantPlan(t, []step.Step{storeStep}, "copy bundle test to "+s.Dir+"/test (", "copy bundle test-delta-1 to "+s.Dir+"/test-delta-1 (")
	must(t, storeStep.Run(t.Context()))
	if done, err := storeStep.Done(t.Context()); err != nil || !done {
		t.Errorf("after Run: %v, %v", done, err)
	}
	if bundles := s.mustOpen(t, key); len(bundles) != 2 {
		t.Errorf("the store has %d bundles", len(bundles))
	}
	if v, err := client.View(t.Context(), "test", key); err != nil || len(v.Bundles()) != 1 {
		t.Errorf("only the base: %v", err)
	}
}

// TestCopyReplacesStick: without the stick, its copy in the store is an equivalent source, and is
// already in place.
func TestCopyReplacesStick(t *testing.T) {
	f := bundletest.New(t)
	key := &f.Key.PublicKey
	s := storeOf(t, f)
	v := bundle.NewView(s.mustOpen(t, key)...)
	done, err := StoreStep(s, v, []*ecdsa.PublicKey{key}, ui.Discard()).Done(t.Context())
	if err != nil || !done {
		t.Errorf("installed from %s: done %t, %v", v.Top().Dir(), done, err)
	}
}

// TestSecondBundleOfAName: the store can have two bundles with one name.
func TestSecondBundleOfAName(t *testing.T) {
	first := bundletest.New(t)
	second := bundletest.New(t)
	redate(t, second, 3600e9)
	s := storeOf(t, first, second)
	keys := []*ecdsa.PublicKey{&first.Key.PublicKey, &second.Key.PublicKey}
	bundles, err := s.Open(keys...)
	must(t, err)
	defer closeAll(bundles)
	if len(bundles) != 2 {
		t.Fatalf("%d bundles", len(bundles))
	}
	for _, f := range []*bundletest.Fixture{first, second} {
		if held, err := s.Has(f.Open(t), keys...); err != nil || !held {
			t.Errorf("Has: %v, %v", held, err)
		}
		sums, err := os.ReadFile(filepath.Join(f.Dir, bundle.SumsName))
		must(t, err)
		if has, err := s.HasSums(sums); err != nil || !has {
			t.Errorf("HasSums with its sums: %v, %v", has, err)
		}
	}
	if has, err := s.HasSums([]byte("x")); err != nil || has {
		t.Errorf("HasSums with other sums: %v, %v", has, err)
	}
	v, err := s.Named("test", keys...)
	must(t, err)
	defer v.Close()
	if v.Top().ID() != second.Open(t).ID() {
		t.Error("Named does not return the newer bundle")
	}
	r := start(t, bundles...)
	for _, f := range []*bundletest.Fixture{first, second} {
		want, err := os.ReadFile(filepath.Join(f.Dir, bundle.IndexName))
		must(t, err)
		if _, body, err := r.get(t, http.MethodGet, "/bundles/"+f.Open(t).ID()+"/"+bundle.IndexName); err != nil || string(body) != string(want) {
			t.Errorf("the index by ID: %v", err)
		}
	}
}

// TestCrashedImport: at each point where a copy can stop, the store opens with its earlier content,
// and another import completes the copy.
func TestCrashedImport(t *testing.T) {
	base, delta := bundletest.BaseAndDelta(t)
	key := &base.Key.PublicKey
	names := delta.Open(t).Names()
	// The order of a copy: first the parts, with temporary and then final names, then the other
	// files, then the files that complete the bundle.
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	for n := range names {
		for _, suffix := range []string{"", ".tmp"} {
			t.Run(fmt.Sprintf("%d files%s", n, suffix), func(t *testing.T) {
				s := storeOf(t, base)
				dir := filepath.Join(s.Dir, "test-delta-1")
				must(t, os.Mkdir(dir, 0o755))
				for i, name := range names[:n+1] {
					content, err := os.ReadFile(filepath.Join(delta.Dir, name))
					must(t, err)
					if i < n {
						must(t, os.WriteFile(filepath.Join(dir, name), content, 0o644))
					} else if suffix != "" {
						must(t, os.WriteFile(filepath.Join(dir, name+suffix), content[:len(content)/2], 0o644))
					}
				}
				if bundles := s.mustOpen(t, key); len(bundles) != 1 {
					t.Fatalf("%d bundles", len(bundles))
				}
				_, err := s.Import(t.Context(), delta.Open(t), ui.Discard(), key)
				must(t, err)
				if bundles := s.mustOpen(t, key); len(bundles) != 2 {
					t.Fatalf("%d bundles after the second import", len(bundles))
				}
			})
		}
	}
}

func rank(name string) int {
	switch name {
	case bundle.SumsName:
		return 2
	case bundle.SignatureName:
		return 3
	case bundle.IndexName:
		return 4
	}
	if strings.HasPrefix(name, "bundle.tar.") {
		return 0
	}
	return 1
}
