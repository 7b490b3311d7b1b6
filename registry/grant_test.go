package registry

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/remote"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
)

func TestPrefixes(t *testing.T) {
	users := filepath.Join(t.TempDir(), "htpasswd")
	u := Users{File: users}
	must(t, u.Set(pusher, password, "team-a/", "base"))
	r := startWith(t, Options{Bundles: []*bundle.Bundle{bundletest.New(t).Open(t)}, Pushed: t.TempDir(), Users: users})
	image := bundletest.RandomImage(t, 1000, 1, "amd64")
	layer, _ := firstLayer(t, image)
	for ref, want := range map[string]bool{
		"team-a/app:1": true, "team-a/x/y:1": true, "base:1": true, "base/x:1": true,
		"team-b/app:1": false, "team-ab/app:1": false, "team-a:1": false, "baseline:1": false, "app:1": false, "registry.k8s.io/pause:9": false,
	} {
		err := remote.Write(r.ref(t, ref), image, r.login()...)
		if (err == nil) != want || err != nil && !strings.Contains(err.Error(), "DENIED") {
			t.Errorf("%s: %v", ref, err)
		}
	}
	for _, c := range []struct{ method, path string }{
		{"POST", "/v2/team-b/app/blobs/uploads/"},
		{"POST", "/v2/team-b/app/blobs/uploads/?mount=" + layer + "&from=team-a/app"},
		{"POST", "/v2/team-b/app/blobs/uploads/?digest=" + layer},
		{"PATCH", "/v2/team-b/app/blobs/uploads/id"},
		{"PUT", "/v2/team-b/app/blobs/uploads/id"},
		{"PUT", "/v2/team-b/app/manifests/1"},
		{"DELETE", "/v2/team-b/app/manifests/1"},
		{"DELETE", "/v2/team-b/app/blobs/" + layer},
		{"DELETE", "/v2/team-b/app/blobs/uploads/id"},
		{"PUT", "/v2/team-a/../team-b/app/manifests/1"},
		{"PUT", "/v2/Team-A/app/manifests/1"},
	} {
		resp, body := r.send(t, c.method, c.path, []byte("{}"))
		if resp.StatusCode != http.StatusForbidden && resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s %s: %s: %s", c.method, c.path, resp.Status, body)
		}
	}
	if want := `"user":"ci","repository":"team-b/app"`; !strings.Contains(r.log.String(), want) || !strings.Contains(r.log.String(), "ci may push only to names below team-a/, base, not to team-b/app") {
		t.Errorf("the log does not contain the refused push:\n%s", r.log)
	}
	token := r.userToken(t)
	must(t, u.Set(pusher, password)) // only the password changes
	if err := remote.Write(r.ref(t, "team-b/app:1"), image, r.login()...); err == nil {
		t.Error("a new password removed the prefixes")
	}
	must(t, u.Set(pusher, password, ""))
	must(t, remote.Write(r.ref(t, "team-b/app:1"), image, r.login()...))
	must(t, u.Set("other", password))
	if _, err := u.Remove(pusher); err != nil {
		t.Fatal(err)
	}
	resp, body, err := r.get(t, "POST", "/v2/team-b/app/blobs/uploads/", "Authorization", "Bearer "+token)
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("the token of a removed user: %s, %v: %s", resp.Status, err, body)
	}
}

func TestLimits(t *testing.T) {
	u := Users{File: filepath.Join(t.TempDir(), "htpasswd")}
	for _, bad := range []string{"docker.io/", "registry.k8s.io/pause", "mirror_5000", "localhost", "Team", "/", " ", "a//b", "a b", "../x", "a\nb:x"} {
		if err := u.Set("ci", "x", bad); err == nil || !strings.Contains(err.Error(), "team-a/") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := os.Stat(u.File); err == nil {
		t.Error("a refused prefix created a file")
	}
	must(t, u.Set("ci", "x", "team-a/", "team-b/"))
	must(t, u.Set("ci2", "x", "team-c/"))
	must(t, u.Set("any", "x"))
	for name, want := range map[string]string{"ci": "names below team-a/, team-b/", "ci2": "names below team-c/", "any": "names that are not reserved"} {
		if g, err := u.grant(name); err != nil || g.String() != want {
			t.Errorf("%s: %s, %v", name, g, err)
		}
	}
	if names, err := u.Names(); err != nil || !slices.Equal(names, []string{"ci", "ci2", "any"}) {
		t.Errorf("names %v, %v", names, err)
	}
	must(t, u.Set("ci", "x", "team-d/"))
	if g, err := u.grant("ci"); err != nil || g.String() != "names below team-d/" {
		t.Errorf("after the change: %s, %v", g, err)
	}
	if info, err := os.Stat(u.File); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info, err)
	}
	for _, name := range []string{"ci", "ci2", "any"} {
		if removed, err := u.Remove(name); err != nil || !removed {
			t.Errorf("remove %s: %v, %v", name, removed, err)
		}
	}
	if text, err := os.ReadFile(u.File); err == nil {
		t.Errorf("remaining: %s", text)
	}
}
