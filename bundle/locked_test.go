package bundle_test

import (
	"net/http"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/ui"
)

// TestLock: in upstream, a tag points to another image, and a file has other contents.
// With the lock the parts have the same bytes, and the moved tag is reported.
func TestLock(t *testing.T) {
	images := bundletest.StandardImages(t)
	u := newUpstream(t, images...)
	o := options(t)
	write := func(p *bundle.Plan) map[string]string {
		dir := t.TempDir()
		_, err := bundle.Write(background, p, dir, o, ui.Discard())
		must(t, err)
		sums := hashAll(t, dir)
		for name := range sums {
			if !strings.HasPrefix(name, "bundle.tar.") {
				delete(sums, name)
			}
		}
		return sums
	}
	request := u.request(images...)
	first, err := bundle.NewPlan(background, u.client(t), request, ui.Discard())
	must(t, err)
	want := write(first)

	tag := images[0].Name
	u.push(t, bundletest.Image{Name: tag, Held: bundletest.RandomImage(t, 1000, 1, "amd64")})
	u.files["github.com/x/releases/sums"] = []byte(strings.Repeat("0", 64) + " *runc.amd64\n")
	request.Locked = &bundle.Locked{Lock: first.Lock}
	again, err := bundle.NewPlan(background, u.client(t), request, ui.Discard())
	must(t, err)
	if len(again.Moved) != 1 || again.Moved[0].Name != first.Lock.Images[0].Name || again.Moved[0].Now == again.Moved[0].Locked {
		t.Errorf("moved: %+v, want %s", again.Moved, tag)
	}
	for name, sum := range write(again) {
		if want[name] != sum {
			t.Errorf("%s differs from the locked bundle", name)
		}
	}

	request.Locked.Update = []string{first.Lock.Images[0].Name}
	followed, err := bundle.NewPlan(background, u.client(t), request, ui.Discard())
	must(t, err)
	if followed.Lock.Images[0].Digest == first.Lock.Images[0].Digest || len(followed.Moved) > 0 {
		t.Errorf("%s was not updated", tag)
	}
	if followed.Lock.Files[0].SHA256 != first.Lock.Files[0].SHA256 {
		t.Error("the file was updated too")
	}
	request.Locked.Update = []string{"runc"}
	anew, err := bundle.NewPlan(background, u.client(t), request, ui.Discard())
	must(t, err)
	if anew.Lock.Files[0].SHA256 != strings.Repeat("0", 64) {
		t.Error("the file is still the locked one")
	}
	request.Locked.Update = []string{"runq"}
	if _, err = bundle.NewPlan(background, u.client(t), request, ui.Discard()); err == nil || !strings.Contains(err.Error(), "update runq: no image, package,") {
		t.Errorf("an unknown name: %v", err)
	}
}

// TestLockedTagIsGone: without the tag, the digest is enough.
func TestLockedTagIsGone(t *testing.T) {
	images := bundletest.StandardImages(t)[:1]
	u := newUpstream(t, images...)
	request := u.request(images...)
	first, err := bundle.NewPlan(background, u.client(t), request, ui.Discard())
	must(t, err)
	_, tag, _ := strings.Cut(images[0].Name[strings.LastIndex(images[0].Name, "/")+1:], ":")
	gone := func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/manifests/"+tag) {
			http.NotFound(w, r)
			return true
		}
		return false
	}
	u.spoil.Store(&gone)
	request.Locked = &bundle.Locked{Lock: first.Lock}
	again, err := bundle.NewPlan(background, u.client(t), request, ui.Discard())
	must(t, err)
	if len(again.Moved) != 1 || again.Moved[0].Now != "" {
		t.Errorf("moved: %+v, want a missing tag", again.Moved)
	}
}
