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

// TestMirrorLogin: a mirror that requires a login serves images and files with the
// login of its rule. The login is not sent to other servers.
func TestMirrorLogin(t *testing.T) {
	images := bundletest.StandardImages(t)[:1]
	u := newUpstream(t, images...)
	request := u.request(images...)
	var mu sync.Mutex
	shown := map[string]bool{} // paths with a password in the request
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
	t.Setenv("DOCKER_CONFIG", t.TempDir()) // no login exists
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
		if open := strings.HasSuffix(path, "/sums"); with == open && path != "/v2/" { // where the client asks for the login method
			t.Errorf("%s got a password: %v", path, with)
		}
	}
	err := plan(rpm.Login{})
	if err == nil || !strings.Contains(err.Error(), "requires a login") || !strings.Contains(err.Error(), "401") {
		t.Errorf("without a login: %v", err)
	}
	err = plan(rpm.Login{Username: "bank", PasswordEnv: "NO_SUCH_VARIABLE"})
	if err == nil || !strings.Contains(err.Error(), "prepare login at mirror "+u.host()+": variable NO_SUCH_VARIABLE is not set") {
		t.Errorf("an unset variable: %v", err)
	}
}
