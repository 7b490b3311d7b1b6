package registry

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/opencontainers/go-digest"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/ui"
)

func needsText(needs []Need) string {
	var words []string
	for _, n := range needs {
		words = append(words, fmt.Sprint(n.By, n.What))
	}
	return strings.Join(words, " ")
}

func TestNeeds(t *testing.T) {
	image := func(name string) bundletest.Image {
		held := bundletest.RandomImage(t, 10_000, 2, "amd64")
		return bundletest.Image{Name: name, Held: held}
	}
	old, kept, moved := image("quay.io/org/old:1"), image("quay.io/org/kept:1"), image("quay.io/org/moved:1")
	first := bundletest.NewWith(t, "first", old, kept, moved)
	next := image("quay.io/org/moved:1")
	second := bundletest.NewWith(t, "second", kept, next)
	a, b := first.Open(t), second.Open(t)
	b.Index().Created = a.Index().Created.Add(1)
	both := []*bundle.Bundle{a, b}

	needs := Needs(both, Use{})
	if got := needsText(needs[0]); got != "tags[quay.io/org/old:1]" {
		t.Errorf("first: %s", got)
	}
	if got := needsText(needs[1]); got != "tags[quay.io/org/moved:1]" {
		t.Errorf("second: %s", got)
	}
	d, err := moved.Held.Digest()
	must(t, err)
	running := Use{Running: map[string][]digest.Digest{"default/a": {digest.Digest(d.String())}, "default/b": {digest.FromString("another image")}}}
	if got := needsText(Needs(both, running)[0]); got != "tags[quay.io/org/old:1] pods[default/a]" {
		t.Errorf("with a pod that runs the former image of the tag: %s", got)
	}
	third := bundletest.NewWith(t, "third", old, kept)
	c := third.Open(t)
	c.Index().Created = b.Index().Created.Add(1)
	if got := Needs([]*bundle.Bundle{a, b, c}, Use{}); len(got[0]) != 0 {
		t.Errorf("other bundles have all content of first: %s", needsText(got[0]))
	}
}

func TestDeltasNeedTheirBase(t *testing.T) {
	f := bundletest.New(t)
	delta := f.Delta(t, "delta", bundletest.StandardImages(t)[0])
	base, d := f.Open(t), delta.Open(t)
	needs := Needs([]*bundle.Bundle{base, d}, Use{})
	if !slices.ContainsFunc(needs[0], func(n Need) bool { return n.By == "deltas" && slices.Equal(n.What, []string{"delta"}) }) {
		t.Errorf("base: %s", needsText(needs[0]))
	}
	if slices.ContainsFunc(needs[1], func(n Need) bool { return n.By == "deltas" }) {
		t.Errorf("delta: %s", needsText(needs[1]))
	}
}

// TestPushesNeedTheirLayers: a pushed image can need layers of a bundle.
func TestPushesNeedTheirLayers(t *testing.T) {
	f := bundletest.New(t)
	b := f.Open(t)
	r, pushed := startSite(t, b)
	must(t, remote.Write(r.ref(t, "team/base:1"), f.Images[0].Held, r.login()...))
	must(t, remote.Write(r.ref(t, "team/own:1"), bundletest.RandomImage(t, 1000, 1, "amd64"), r.login()...))
	blobs, err := PushedBlobs(t.Context(), pushed, []*bundle.Bundle{b})
	must(t, err)
	other := bundletest.NewWith(t, "other", f.Images...)
	needs := Needs([]*bundle.Bundle{b}, Use{Pushed: blobs})
	d := digestOf(t, f.Images[0].Held)
	i := slices.IndexFunc(needs[0], func(n Need) bool { return n.By == "pushed images" })
	if i < 0 || !slices.Equal(needs[0][i].What, []string{"team/base:1", "team/base@" + d}) {
		t.Errorf("with one bundle: %s", needsText(needs[0]))
	}
	if needs := Needs([]*bundle.Bundle{b, other.Open(t)}, Use{Pushed: blobs}); needsText(needs[0]) != "" {
		t.Errorf("with another bundle that has the same content: %s", needsText(needs[0]))
	}
	if noBlobs, err := PushedBlobs(t.Context(), filepath.Join(t.TempDir(), "none"), nil); err != nil || len(noBlobs) != 0 {
		t.Errorf("without pushes: %v, %v", noBlobs, err)
	}
}

// TestKeepPushed: the blobs of a pushed image remain when their bundle is removed.
func TestKeepPushed(t *testing.T) {
	f := bundletest.New(t)
	b, pushed, users := f.Open(t), t.TempDir(), filepath.Join(t.TempDir(), "htpasswd")
	writeUser(t, users)
	t.Run("push", func(t *testing.T) {
		r := startWith(t, Options{Bundles: []*bundle.Bundle{b}, Pushed: pushed, Users: users})
		must(t, remote.Write(r.ref(t, "team/base:1"), f.Images[0].Held, r.login()...))
	})
	must(t, KeepPushed(t.Context(), pushed, b, []*bundle.Bundle{b})) // another bundle has the blobs: no copy
	if _, err := os.Stat(filepath.Join(pushed, filepath.FromSlash(dataPath(digest.Digest(digestOf(t, f.Images[0].Held)))))); err == nil {
		t.Error("a blob of a remaining bundle was copied")
	}
	for range 2 {
		must(t, KeepPushed(t.Context(), pushed, b, nil))
	}
	r := startWith(t, Options{Pushed: pushed, Users: users})
	image, err := remote.Image(r.ref(t, "team/base:1"), r.login()...)
	must(t, err)
	must(t, validate.Image(image))
}

// TestPlaceStays: the second bundle with a name is found after the first is removed.
func TestPlaceStays(t *testing.T) {
	first, second := bundletest.NewWith(t, "bank", bundletest.StandardImages(t)...), bundletest.NewWith(t, "bank", bundletest.StandardImages(t)[:1]...)
	s := Store{Dir: t.TempDir()}
	for _, f := range []*bundletest.Fixture{first, second} {
		_, err := s.Import(t.Context(), f.Open(t), ui.Discard(), &f.Key.PublicKey)
		must(t, err)
	}
	must(t, s.Remove(first.Open(t)))
	if held, err := s.Has(second.Open(t), &second.Key.PublicKey); !held || err != nil {
		t.Errorf("Has of the second: %t, %v", held, err)
	}
	must(t, s.Remove(second.Open(t)))
	if names, err := s.List(); err != nil || len(names) > 0 {
		t.Errorf("remaining: %q, %v", names, err)
	}
}

func TestRemove(t *testing.T) {
	f := bundletest.New(t)
	s := Store{Dir: t.TempDir()}
	_, err := s.Import(t.Context(), f.Open(t), ui.Discard(), &f.Key.PublicKey)
	must(t, err)
	must(t, os.MkdirAll(filepath.Join(s.Dir, removingPrefix+"old"), 0o755)) // of an interrupted Remove
	must(t, os.WriteFile(filepath.Join(s.Dir, removingPrefix+"old", bundle.IndexName), []byte("{}"), 0o644))
	if names, err := s.List(); err != nil || !slices.Equal(names, []string{"test"}) {
		t.Errorf("the store contains %v, %v", names, err)
	}
	held, err := s.Open(&f.Key.PublicKey)
	must(t, err)
	must(t, s.Remove(held[0]))
	must(t, held[0].Close())
	must(t, s.Sweep())
	if remaining, err := os.ReadDir(s.Dir); err != nil || len(remaining) != 1 || remaining[0].Name() != importedNamesFile {
		t.Errorf("remaining: %v, %v", remaining, err)
	}
}

// TestUnreadablePlatformIsReported: prune, rollback and the garbage collection name a manifest below an index whose
// link exists and whose data is damaged or gone. The index alone would not show that its blobs are unknown. A platform
// that was never pushed is no error.
func TestUnreadablePlatformIsReported(t *testing.T) {
	for name, spoilt := range map[string]func(t *testing.T, pushed, d string){
		"damaged": spoil,
		"gone": func(t *testing.T, pushed, d string) {
			t.Helper()
			must(t, os.Remove(filepath.Join(pushed, dataPath(digest.Digest(d)))))
		},
		"gone with its directory": func(t *testing.T, pushed, d string) {
			t.Helper()
			must(t, os.RemoveAll(filepath.Dir(filepath.Join(pushed, dataPath(digest.Digest(d))))))
		},
	} {
		t.Run(name, func(t *testing.T) {
			users, pushed := filepath.Join(t.TempDir(), "htpasswd"), t.TempDir()
			writeUser(t, users)
			held := bundletest.RandomImage(t, 3000, 1, "amd64")
			index := bundletest.TwoPlatforms(t, held)
			b := bundletest.New(t).Open(t)
			t.Run("push", func(t *testing.T) {
				r := startSiteAt(t, pushed, users, b)
				must(t, remote.WriteIndex(r.ref(t, "team/index:1"), index, r.login()...))
			})
			if _, err := PushedBlobs(t.Context(), pushed, nil); err != nil {
				t.Errorf("before the damage: %v", err)
			}
			d := digestOf(t, held)
			spoilt(t, pushed, d)
			_, pruned := PushedBlobs(t.Context(), pushed, nil)
			_, collected := CollectGarbage(t.Context(), pushed, nil, false)
			for command, err := range map[string]error{"prune": pruned, "rollback": KeepPushed(t.Context(), pushed, b, nil), "garbage-collect": collected} {
				if err == nil || !strings.Contains(err.Error(), "team/index") || !strings.Contains(err.Error(), d) {
					t.Errorf("%s: %v", command, err)
				}
			}
			layer, _ := firstLayer(t, held)
			if _, err := os.Stat(filepath.Join(pushed, dataPath(digest.Digest(layer)))); err != nil {
				t.Error(err)
			}
			must(t, os.RemoveAll(filepath.Join(pushed, repositoryPath("team/index"), "_manifests/revisions/sha256", strings.TrimPrefix(d, "sha256:"))))
			if _, err := PushedBlobs(t.Context(), pushed, nil); err != nil {
				t.Errorf("a platform that was not pushed: %v", err)
			}
		})
	}
}
