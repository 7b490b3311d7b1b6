// Package loginfile finds logins at registries in the files that podman and docker write.
//
// It reads all their files, because podman login and docker login write different ones, and names the
// file of a login. A credential helper that is missing or fails is a warning, not an error: most images
// need no login.
package loginfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/docker/cli/cli/config"
	"github.com/docker/cli/cli/config/configfile"
	"github.com/docker/cli/cli/config/types"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
)

// Logins are the logins of this user. The zero value is ready, and safe for concurrent use.
type Logins struct {
	Warn func(string) // receives each warning once; nil: none

	mu    sync.Mutex
	read  bool
	files []file
	err   error
	said  map[string]bool
}

type file struct {
	path string
	*configfile.ConfigFile
}

// login is a login with its origin.
type login struct {
	authn.Authenticator

	origin string
}

// Origin names the file, or the credential helper and its file, that a login of Find comes from; "" for
// others.
func Origin(of authn.Authenticator) string {
	if l, is := of.(*login); is {
		return l.origin
	}
	return ""
}

// Resolve is authn.Keychain.
func (l *Logins) Resolve(of authn.Resource) (authn.Authenticator, error) {
	return l.ResolveContext(context.Background(), of)
}

// ResolveContext returns the login for a repository or a registry, authn.Anonymous without one. The most
// specific entry of the first file that has one counts.
func (l *Logins) ResolveContext(ctx context.Context, of authn.Resource) (authn.Authenticator, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.read {
		l.read = true
		l.files, l.err = l.readFiles()
	}
	if l.err != nil {
		return nil, l.err
	}
	for _, f := range l.files {
		for _, key := range keysOf(of) {
			if found := l.in(ctx, f, key); found != nil {
				return found, nil
			}
		}
	}
	return authn.Anonymous, nil
}

// in returns the login that a file, or its credential helper, has for exactly this key; nil without one.
func (l *Logins) in(ctx context.Context, f file, key string) authn.Authenticator {
	if helper := f.helperOf(key); helper != "" {
		found, err := ask(ctx, helper, serverOf(key))
		switch {
		case err != nil:
			l.warn(fmt.Sprintf("%s of %s: %v: airgap asks %s without this login; install the helper or remove it from that file", helper, f.path, err, hostOf(key)))
		case found != nil:
			return &login{authn.FromConfig(*found), helper + " (" + f.path + ")"}
		}
	}
	for name, entry := range f.AuthConfigs {
		if normal(name) != key || isEmpty(entry) {
			continue
		}
		return &login{authn.FromConfig(authn.AuthConfig{
			Username: entry.Username, Password: entry.Password, Auth: entry.Auth, IdentityToken: entry.IdentityToken, RegistryToken: entry.RegistryToken,
		}), f.path}
	}
	return nil
}

// isEmpty knows the entries that docker login leaves in the file if a helper has the login.
func isEmpty(entry types.AuthConfig) bool {
	entry.ServerAddress = ""
	return entry == types.AuthConfig{}
}

func (l *Logins) warn(text string) {
	if l.said[text] || l.Warn == nil {
		return
	}
	if l.said == nil {
		l.said = map[string]bool{}
	}
	l.said[text] = true
	l.Warn(text)
}

// keysOf returns the keys of a repository, the most specific one first. podman logs in to paths, too.
func keysOf(of authn.Resource) []string {
	keys := []string{lowered(of.String())}
	for {
		key := keys[len(keys)-1]
		end := strings.LastIndex(key, "/")
		if end < 0 {
			return keys
		}
		keys = append(keys, key[:end])
	}
}

const dockerHub = "docker.io"

// normal is a key of a file without its scheme and API version. Docker Hub has several names.
func normal(key string) string {
	if _, rest, has := strings.Cut(key, "://"); has {
		key = rest
	}
	key = strings.TrimSuffix(key, "/")
	for _, version := range []string{"/v1", "/v2"} {
		key = strings.TrimSuffix(key, version)
	}
	return lowered(key)
}

func lowered(key string) string {
	host, path, has := strings.Cut(key, "/")
	if host = strings.ToLower(host); host == name.DefaultRegistry {
		host = dockerHub
	}
	if has {
		return host + "/" + path
	}
	return host
}

func hostOf(key string) string {
	host, _, _ := strings.Cut(key, "/")
	return host
}

// serverOf is the name of a key at a credential helper.
func serverOf(key string) string {
	if key == dockerHub {
		return authn.DefaultAuthKey
	}
	return key
}

// helperOf returns the credential helper for a host; "" for a path and without one.
func (f file) helperOf(key string) string {
	if strings.Contains(key, "/") {
		return ""
	}
	for host, helper := range f.CredentialHelpers {
		if normal(host) == key && helper != "" {
			return "docker-credential-" + helper
		}
	}
	if f.CredentialsStore != "" {
		return "docker-credential-" + f.CredentialsStore
	}
	return ""
}

// readFiles reads the files that exist and can be opened.
func (l *Logins) readFiles() ([]file, error) {
	var all []file
	for _, path := range paths() {
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			if path == os.Getenv(authFile) {
				l.warn(fmt.Sprintf("%s names %s, which does not exist: unset it, or log in with podman login --authfile %[2]s", authFile, path))
			}
			continue
		}
		if err != nil { // often the file of another user, in an inherited environment
			l.warn(fmt.Sprintf("the logins at registries in a file are not used: %v", err))
			continue
		}
		read, err := config.LoadFromReader(f)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("read logins at registries: %s: %w", path, err)
		}
		all = append(all, file{path, read})
	}
	return all, nil
}

const authFile = "REGISTRY_AUTH_FILE"

// paths returns the files of podman and docker: those that the environment names first.
func paths() []string {
	var all []string
	add := func(dir string, below ...string) {
		if filepath.IsAbs(dir) {
			all = append(all, filepath.Join(append([]string{dir}, below...)...))
		}
	}
	if named := os.Getenv(authFile); named != "" {
		all = append(all, named)
	}
	if dir := os.Getenv("DOCKER_CONFIG"); dir != "" {
		all = append(all, filepath.Join(dir, "config.json"))
	}
	home, _ := os.UserHomeDir()
	settings := os.Getenv("XDG_CONFIG_HOME")
	if settings == "" && home != "" {
		settings = filepath.Join(home, ".config")
	}
	add(os.Getenv("XDG_RUNTIME_DIR"), "containers/auth.json")
	add("/run/containers", strconv.Itoa(os.Getuid()), "auth.json")
	add(settings, "containers/auth.json")
	if os.Getenv("DOCKER_CONFIG") == "" {
		add(home, ".docker/config.json")
	}
	return all
}
