package loginfile

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
)

// machine has the directories that the files of podman and docker can be in.
func machine(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, value := range map[string]string{
		"HOME": "home", "XDG_RUNTIME_DIR": "run", "XDG_CONFIG_HOME": "", "REGISTRY_AUTH_FILE": "", "DOCKER_CONFIG": "",
	} {
		if value != "" {
			value = filepath.Join(dir, value)
		}
		t.Setenv(name, value)
	}
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// auths is a login file with one user per key: the user is the name of the file's owner and the key.
func auths(who string, keys ...string) string {
	var entries []string
	for _, key := range keys {
		entries = append(entries, fmt.Sprintf(`%q: {"auth": %q}`, key, base64.StdEncoding.EncodeToString([]byte(who+" "+strings.ReplaceAll(key, ":", "")+":pw"))))
	}
	return `{"auths": {` + strings.Join(entries, ", ") + `}}`
}

// found returns the user and the origin, relative to dir.
func found(t *testing.T, l *Logins, dir, repository string) string {
	t.Helper()
	repo, err := name.NewRepository(repository)
	if err != nil {
		t.Fatal(err)
	}
	as, err := l.ResolveContext(t.Context(), repo)
	if err != nil {
		return "error: " + strings.ReplaceAll(err.Error(), dir+"/", "")
	}
	if as == authn.Anonymous {
		return "anonymous"
	}
	config, err := as.Authorization()
	if err != nil {
		t.Fatal(err)
	}
	return config.Username + config.IdentityToken + " from " + strings.ReplaceAll(Origin(as), dir+"/", "")
}

// TestFiles: a login counts wherever podman and docker write it, and its file is named.
func TestFiles(t *testing.T) {
	const podmanRun, podmanHome, docker = "run/containers/auth.json", "home/.config/containers/auth.json", "home/.docker/config.json"
	for _, c := range []struct {
		name       string
		files      map[string]string
		env        map[string]string
		repository string
		want       string
	}{
		{name: "no file", repository: "quay.io/a/b", want: "anonymous"},
		{name: "docker's file without this registry", files: map[string]string{docker: auths("docker", "ghcr.io"), podmanRun: auths("podman", "quay.io")},
			repository: "quay.io/a/b", want: "podman quay.io from " + podmanRun},
		{name: "podman's persistent file", files: map[string]string{podmanHome: auths("podman", "quay.io")}, repository: "quay.io/a/b", want: "podman quay.io from " + podmanHome},
		{name: "podman's file of the session first", files: map[string]string{podmanHome: auths("old", "quay.io"), podmanRun: auths("new", "quay.io")},
			repository: "quay.io/a/b", want: "new quay.io from " + podmanRun},
		{name: "docker", files: map[string]string{docker: auths("docker", "quay.io")}, repository: "quay.io/a/b", want: "docker quay.io from " + docker},
		{name: "the environment first", files: map[string]string{"ci/auth.json": auths("ci", "quay.io"), podmanRun: auths("podman", "quay.io")},
			env: map[string]string{"REGISTRY_AUTH_FILE": "ci/auth.json"}, repository: "quay.io/a/b", want: "ci quay.io from ci/auth.json"},
		{name: "DOCKER_CONFIG", files: map[string]string{"ci/config.json": auths("ci", "quay.io"), docker: auths("docker", "quay.io")},
			env: map[string]string{"DOCKER_CONFIG": "ci"}, repository: "quay.io/a/b", want: "ci quay.io from ci/config.json"},
		{name: "a path", files: map[string]string{podmanRun: auths("podman", "quay.io", "quay.io/a", "quay.io/a/b/c")},
			repository: "quay.io/a/b", want: "podman quay.io/a from " + podmanRun},
		{name: "a path of others", files: map[string]string{podmanRun: auths("podman", "quay.io/x")}, repository: "quay.io/a/b", want: "anonymous"},
		{name: "podman's name of Docker Hub", files: map[string]string{podmanRun: auths("podman", "docker.io")}, repository: "busybox", want: "podman docker.io from " + podmanRun},
		{name: "docker's name of Docker Hub", files: map[string]string{docker: auths("docker", "https://index.docker.io/v1/")},
			repository: "docker.io/library/busybox", want: "docker https//index.docker.io/v1/ from " + docker},
		{name: "a port", files: map[string]string{docker: auths("docker", "https://m.example:8443")}, repository: "m.example:8443/a", want: "docker https//m.example8443 from " + docker},
		{name: "no JSON", files: map[string]string{docker: "{"}, repository: "quay.io/a/b", want: "error: read logins at registries: " + docker + ": unexpected EOF"},
		{name: "a file that cannot be opened", files: map[string]string{"ci": "a file", podmanRun: auths("podman", "quay.io")}, env: map[string]string{"DOCKER_CONFIG": "ci"},
			repository: "quay.io/a/b", want: "podman quay.io from " + podmanRun + ", after: the logins at registries in a file are not used: open ci/config.json: not a directory"},
		{name: "a missing file of the environment", env: map[string]string{"REGISTRY_AUTH_FILE": "none"}, repository: "quay.io/a/b",
			want: "anonymous, after: REGISTRY_AUTH_FILE names none, which does not exist: unset it, or log in with podman login --authfile none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := machine(t)
			for name, text := range c.files {
				write(t, filepath.Join(dir, name), text)
			}
			for name, value := range c.env {
				t.Setenv(name, filepath.Join(dir, value))
			}
			said := ""
			l := &Logins{Warn: func(text string) { said = ", after: " + strings.ReplaceAll(text, dir+"/", "") }}
			if got := found(t, l, dir, c.repository) + said; got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestHelpers: a credential helper that is missing or fails is one warning, and the rest counts.
func TestHelpers(t *testing.T) {
	dir := machine(t)
	t.Setenv("PATH", filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
	write(t, filepath.Join(dir, "bin/docker-credential-good"), "#!/bin/sh\nread server\necho \"{\\\"Username\\\": \\\"me\\\", \\\"Secret\\\": \\\"for $server\\\"}\"\n")
	write(t, filepath.Join(dir, "bin/docker-credential-token"), "#!/bin/sh\necho '{\"Username\": \"<token>\", \"Secret\": \"t0ken\"}'\n")
	write(t, filepath.Join(dir, "bin/docker-credential-empty"), "#!/bin/sh\necho 'credentials not found in native keychain'\nexit 1\n")
	write(t, filepath.Join(dir, "bin/docker-credential-bad"), "#!/bin/sh\necho 'pass not initialized'\nexit 1\n")
	const docker = "home/.docker/config.json"
	for _, c := range []struct{ name, config, repository, want, warning string }{
		{"for one registry", `{"credHelpers": {"quay.io": "good"}}`, "quay.io/a", "me from docker-credential-good (" + docker + ")", ""},
		{"not for this one", `{"credHelpers": {"quay.io": "good"}}`, "ghcr.io/a", "anonymous", ""},
		{"for all", `{"credsStore": "good"}`, "ghcr.io/a", "me from docker-credential-good (" + docker + ")", ""},
		{"a token", `{"credsStore": "token"}`, "ghcr.io/a", "t0ken from docker-credential-token (" + docker + ")", ""},
		{"no login", `{"credsStore": "empty"}`, "ghcr.io/a", "anonymous", ""},
		{"missing", `{"credsStore": "desktop"}`, "ghcr.io/a", "anonymous", "docker-credential-desktop of " + docker + ": no such credential helper in PATH: airgap asks ghcr.io without this login"},
		{"missing, with an entry", `{"credsStore": "desktop", "auths": {"ghcr.io": {"auth": "bWU6cHc="}}}`, "ghcr.io/a", "me from " + docker, "no such credential helper"},
		{"failing", `{"credHelpers": {"ghcr.io": "bad"}}`, "ghcr.io/a", "anonymous", "the credential helper failed: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			write(t, filepath.Join(dir, docker), c.config)
			var said []string
			l := &Logins{Warn: func(text string) { said = append(said, strings.ReplaceAll(text, dir+"/", "")) }}
			for range 2 {
				if got := found(t, l, dir, c.repository); got != c.want {
					t.Errorf("got %s, want %s", got, c.want)
				}
			}
			if c.warning == "" && len(said) > 0 || c.warning != "" && (len(said) != 1 || !strings.Contains(said[0], c.warning)) {
				t.Errorf("warnings %q, want one with %q", said, c.warning)
			}
		})
	}
}
