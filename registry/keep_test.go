package registry

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/opencontainers/go-digest"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
)

// registryUser is the owner of the directory of pushes, if the test runs as root.
const registryUser = 54321

// userPushes returns a directory with a pushed image that uses layers of the bundle. If the test
// runs as root, the directory belongs to the registry's user.
func userPushes(t *testing.T) (pushed string, b *bundle.Bundle, manifest digest.Digest) {
	t.Helper()
	f := bundletest.New(t)
	b, pushed = f.Open(t), t.TempDir()
	users := filepath.Join(t.TempDir(), "htpasswd")
	writeUser(t, users)
	t.Run("push", func(t *testing.T) {
		r := startWith(t, Options{Bundles: []*bundle.Bundle{b}, Pushed: pushed, Users: users})
		must(t, remote.Write(r.ref(t, "team/base:1"), f.Images[0].Held, r.login()...))
	})
	if os.Geteuid() == 0 {
		must(t, filepath.WalkDir(pushed, func(path string, _ fs.DirEntry, err error) error {
			must(t, err)
			return os.Lchown(path, registryUser, registryUser)
		}))
	}
	return pushed, b, digest.Digest(digestOf(t, f.Images[0].Held))
}

// TestKeepPushedFollowsNoLink: the registry's user plants links and special files in its directory,
// which root reads and writes in airgap rollback and airgap registry prune.
func TestKeepPushedFollowsNoLink(t *testing.T) {
	const tag = "/repositories/team/base/_manifests/tags/1/current/link"
	link := func(path, target string) error { return os.Symlink(target, path) }
	for name, trap := range map[string]struct {
		at      string // path below the engine's root; "data" and "blob" are paths of the blob
		plant   func(path, target string) error
		target  string // "etc" or "etc/shadow"
		message string
	}{
		"the blobs' directory": {"/blobs", link, "etc", "/blobs"},
		"a blob's directory":   {"blob", link, "etc", "/data"},
		"a blob":               {"data", link, "etc/shadow", "/data"},
		"a missing blob":       {"data", link, "etc/new", "/data"},
		"a hard link":          {"data", func(path, target string) error { return os.Link(target, path) }, "etc/shadow", "belongs to user 0"},
		"a FIFO as blob":       {"data", func(path, _ string) error { return syscall.Mkfifo(path, 0o666) }, "", "no regular file"},
		"a tag":                {tag, link, "etc/shadow", tag},
		"a FIFO as tag":        {tag, func(path, _ string) error { return syscall.Mkfifo(path, 0o666) }, "", tag},
		"an endless tag":       {tag, func(path, _ string) error { return os.WriteFile(path, make([]byte, 1<<20), 0o666) }, "", tag},
		"a repository":         {"/repositories/team", link, "etc", "/repositories/team"},
		"all repositories":     {"/repositories", link, "etc", "/repositories"},
		"the temporary file":   {"draft", link, "etc/shadow", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(name, "hard link") && os.Geteuid() != 0 {
				t.Skip("only root can make a hard link to a file of another user")
			}
			pushed, b, manifest := userPushes(t)
			etc := secretDir(t)
			data := filepath.Join(pushed, dataPath(manifest))
			at := map[string]string{"data": data, "blob": filepath.Dir(data), "draft": filepath.Join(filepath.Dir(data), ".data.airgap-new")}[trap.at]
			if at == "" {
				at = filepath.Join(pushed, engineRoot+trap.at)
			}
			must(t, errors.Join(os.RemoveAll(at), os.MkdirAll(filepath.Dir(at), 0o777), trap.plant(at, filepath.Join(filepath.Dir(etc), trap.target))))
			if os.Geteuid() == 0 && trap.target == "" {
				must(t, os.Lchown(at, registryUser, registryUser))
			}
			_, pruned := PushedBlobs(t.Context(), pushed, []*bundle.Bundle{b})
			kept := KeepPushed(t.Context(), pushed, b, nil)
			t.Log(pruned, "\n", kept)
			for command, err := range map[string]error{"prune": pruned, "rollback": kept} {
				if trap.message != "" && command == "rollback" && (err == nil || !strings.Contains(err.Error(), trap.message)) {
					t.Errorf("the error of %s does not name the planted file: %v", command, err)
				}
				if strings.Contains(trap.at, "repositories") && err == nil {
					t.Errorf("%s reports no error about the unreadable file", command)
				}
			}
			wantUnchanged(t, etc)
		})
	}
}

// secretDir returns a directory with a file that other users cannot read.
func secretDir(t *testing.T) string {
	t.Helper()
	etc := filepath.Join(t.TempDir(), "etc")
	must(t, errors.Join(os.Mkdir(etc, 0o755), os.WriteFile(filepath.Join(etc, "shadow"), []byte("root:secret"), 0o600)))
	return etc
}

func wantUnchanged(t *testing.T, etc string) {
	t.Helper()
	entries, err := os.ReadDir(etc)
	must(t, err)
	info, err := os.Lstat(filepath.Join(etc, "shadow"))
	must(t, err)
	content, err := os.ReadFile(filepath.Join(etc, "shadow"))
	must(t, err)
	if len(entries) != 1 || string(content) != "root:secret" || info.Mode() != 0o600 || int(info.Sys().(*syscall.Stat_t).Uid) != os.Geteuid() {
		t.Errorf("etc has %v, shadow %q, mode %s", entries, content, info.Mode())
	}
}

// TestKeptBlobIsTheUsers: files that root adds belong to the registry's user.
func TestKeptBlobIsTheUsers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	pushed, b, manifest := userPushes(t)
	must(t, KeepPushed(t.Context(), pushed, b, nil))
	for at := filepath.Join(pushed, dataPath(manifest)); at != pushed; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		must(t, err)
		if s := info.Sys().(*syscall.Stat_t); s.Uid != registryUser || s.Gid != registryUser {
			t.Errorf("%s belongs to %d:%d", at, s.Uid, s.Gid)
		}
	}
}

// TestServeRefusesAnotherUsersPushes: if root served another user's directory, it would create files
// that the registry's user cannot write.
func TestServeRefusesAnotherUsersPushes(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	pushed, b, _ := userPushes(t)
	r := startWith(t, Options{Bundles: []*bundle.Bundle{b}, Pushed: pushed})
	health, err := r.peer(t).Health(t.Context())
	must(t, err)
	if !strings.Contains(health.Problem, "belongs to another user") {
		t.Errorf("problem: %q", health.Problem)
	}
}
