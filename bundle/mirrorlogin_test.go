package bundle_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/bundle/fetch"
	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/internal/ui"
)

// TestMirrorLogin: a mirror that wants a login gives images and files to who has
// one in its rule, and nobody else is shown it.
func TestMirrorLogin(t *testing.T) {
	images := bundletest.StandardImages(t)[:1]
	u := newUpstream(t, images...)
	request := u.request(images...)
	var mu sync.Mutex
	shown := map[string]bool{} // paths that a password came with
	guard := func(w http.ResponseWriter, r *http.Request) bool {
		user, password, given := r.BasicAuth()
		mu.Lock()
		shown[r.URL.Path] = given
		mu.Unlock()
		open := strings.HasPrefix(r.URL.Path, "/github.com/x/releases/sums")
		if open || user == "bank" && password == "s3cret" {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="mirror"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	}
	u.spoil.Store(&guard)
	t.Setenv("DOCKER_CONFIG", t.TempDir()) // nobody has logged in
	secret := filepath.Join(t.TempDir(), "password")
	must(t, os.WriteFile(secret, []byte("s3cret\n"), 0o600))
	plan := func(l rpm.Login) error {
		c, err := fetch.NewClient(fetch.Sources{CA: u.ca, Rewrite: []fetch.Rewrite{
			{From: "*", To: u.host(), Login: l},
			{From: "github.com/x/releases/sums", To: u.host() + "/github.com/x/releases/sums"},
		}})
		if err != nil {
			return err
		}
		hasten(c)
		_, err = bundle.NewPlan(background, c, request, ui.Discard())
		return err
	}
	must(t, plan(rpm.Login{Username: "bank", PasswordFile: secret}))
	for path, with := range shown {
		if open := strings.HasSuffix(path, "/sums"); with == open && path != "/v2/" { // where a registry is asked whom it wants to see
			t.Errorf("%s was shown a password: %v", path, with)
		}
	}
	err := plan(rpm.Login{})
	if err == nil || !strings.Contains(err.Error(), "wants credentials") || !strings.Contains(err.Error(), "401") {
		t.Errorf("without a login: %v", err)
	}
	err = plan(rpm.Login{Username: "bank", PasswordEnv: "NO_SUCH_VARIABLE"})
	if err == nil || !strings.Contains(err.Error(), "prepare the login at the mirror "+u.host()+": the variable NO_SUCH_VARIABLE is not set") {
		t.Errorf("a variable that is not set: %v", err)
	}
}
