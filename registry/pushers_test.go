package registry

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/remote"

	"airgap.dev/airgap/bundle/bundletest"
)

func TestWhoMayPush(t *testing.T) {
	r, _ := startSite(t, bundletest.New(t).Open(t))
	start := "/v2/team/app/blobs/uploads/"
	basic := func(user, password string) string {
		req, _ := http.NewRequest(http.MethodGet, "/", nil)
		req.SetBasicAuth(user, password)
		return req.Header.Get("Authorization")
	}
	token := r.token(t, basic(pusher, password))
	for _, c := range []struct {
		name, method, path, authorization string
		want                              int
	}{
		{"ping without credentials", "GET", "/v2/", "", 401},
		{"ping with an anonymous token", "GET", "/v2/", "Bearer " + r.token(t, ""), 200},
		{"ping with an empty user and password", "GET", "/v2/", basic("", ""), 200},
		{"ping with a wrong password", "GET", "/v2/", basic(pusher, "wrong"), 401},
		{"ping with a token", "GET", "/v2/", "Bearer " + token, 200},
		{"ping with another token", "GET", "/v2/", "Bearer x", 401},
		{"read without credentials", "GET", "/v2/registry.k8s.io/pause/manifests/3.10.2", "", 200},
		{"read with an expired token", "GET", "/v2/registry.k8s.io/pause/manifests/3.10.2", "Bearer old", 200},
		{"push without credentials", "POST", start, "", 401},
		{"push with an anonymous token", "POST", start, "Bearer " + anonymous, 401},
		{"push with an empty user and password", "POST", start, basic("", ""), 401},
		{"push with a wrong password", "POST", start, basic(pusher, "wrong"), 401},
		{"push as an unknown user", "POST", start, basic("root", password), 401},
		{"push with a broken header", "POST", start, "Basic !", 401},
		{"push with the password", "POST", start, basic(pusher, password), 202},
		{"push with a token", "POST", start, "bearer " + token, 202},
		{"delete without credentials", "DELETE", "/v2/team/app/manifests/1", "", 401},
		{"query an upload without credentials", "GET", start + "x", "", 401},
		{"a token for a wrong password", "GET", "/token", basic(pusher, "wrong"), 401},
		{"a token for a token", "GET", "/token", "Bearer " + token, 401},
		{"a token by POST", "POST", "/token", basic(pusher, password), 405},
	} {
		header := []string{}
		if c.authorization != "" {
			header = []string{"Authorization", c.authorization}
		}
		resp, body, err := r.get(t, c.method, c.path, header...)
		if err != nil || resp.StatusCode != c.want {
			t.Errorf("%s: %s, %v, want %d: %s", c.name, resp.Status, err, c.want, body)
		}
		if challenge := resp.Header.Get("WWW-Authenticate"); (c.want == 401) != (challenge != "") {
			t.Errorf("%s: WWW-Authenticate %q", c.name, challenge)
		}
	}
	resp, _, err := r.get(t, "POST", start)
	must(t, err)
	want := fmt.Sprintf(`Bearer realm="https://%s/token",service=%q,scope="repository:team/app:pull,push"`, r.addr, r.addr)
	if got := resp.Header.Get("WWW-Authenticate"); got != want {
		t.Errorf("challenge %s, want %s", got, want)
	}
	if strings.Contains(r.log.String(), password) || strings.Contains(r.log.String(), token) {
		t.Error("the log contains the password or a token")
	}
}

func (r *running) token(t testing.TB, authorization string) string {
	t.Helper()
	var header []string
	if authorization != "" {
		header = []string{"Authorization", authorization}
	}
	resp, body, err := r.get(t, http.MethodGet, tokenPath, header...)
	must(t, err)
	var answer struct {
		Token string
		Again string `json:"access_token"`
		Life  int    `json:"expires_in"`
	}
	must(t, json.Unmarshal(body, &answer))
	if resp.StatusCode != 200 || answer.Token == "" || answer.Again != answer.Token || answer.Life < 60 {
		t.Fatalf("%s: %s", resp.Status, body)
	}
	return answer.Token
}

// TestUsersChange: the registry sees new and removed users without a restart.
func TestUsersChange(t *testing.T) {
	users := filepath.Join(t.TempDir(), "htpasswd")
	r := startWith(t, Options{Pushed: t.TempDir(), Users: users})
	push := func() error {
		return remote.Write(r.ref(t, "team/app:1"), bundletest.RandomImage(t, 1000, 1, "amd64"), r.login()...)
	}
	if err := push(); err == nil || !strings.Contains(err.Error(), "airgap registry passwd") {
		t.Errorf("without a user: %v", err)
	}
	writeUser(t, users)
	if err := push(); err != nil {
		t.Error(err)
	}
	must(t, os.Remove(users))
	if err := push(); err == nil {
		t.Error("pushed without users")
	}
}

func (r *running) userToken(t testing.TB) string {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, "/", nil)
	must(t, err)
	req.SetBasicAuth(pusher, password)
	return r.token(t, req.Header.Get("Authorization"))
}
