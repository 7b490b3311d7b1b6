package registry

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/remote"
	"golang.org/x/sys/unix"

	"airgap.dev/airgap/bundle/bundletest"
)

// TestDiskErrorsOfPushedFiles: a link that the disk does not return, and a disk that has become read-only, show in healthz,
// in the metrics and in verify until the disk works again.
func TestDiskErrorsOfPushedFiles(t *testing.T) {
	pushed := t.TempDir()
	if err := unix.Mount("tmpfs", pushed, "tmpfs", unix.MS_NODEV, "size=8m,mode=0700"); err != nil {
		t.Skipf("mount a file system: %v", err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(pushed, unix.MNT_DETACH)) })
	users := filepath.Join(t.TempDir(), "htpasswd")
	writeUser(t, users)
	r := startWith(t, Options{Pushed: pushed, Users: users, free: func() (int64, error) { return 10 * reserve, nil }})
	image := bundletest.RandomImage(t, 100_000, 1, "amd64")
	must(t, remote.Write(r.ref(t, "team/app:1"), image, r.login()...))
	link := filepath.Join(pushed, repositoriesPath, "team/app/_manifests/tags/1/current/link")
	failing := func(what, file, cause string, repair func() error) {
		t.Helper()
		found := r.damage(t)
		if len(found) != 1 || !strings.Contains(found[0].File, file) || !strings.Contains(found[0].Cause, cause) {
			t.Errorf("%s: damage: %+v", what, found)
		}
		if got := r.metric(t, "airgap_registry_unreadable_chunks"); got != "1" {
			t.Errorf("%s: metric: %s", what, got)
		}
		if found := Compare(t.Context(), []*Client{r.peer(t)}); len(found) == 0 || !strings.Contains(found[0].Fix, "check that the disk with the pushed images is mounted") {
			t.Errorf("%s: verify: %+v", what, found)
		}
		must(t, repair())
		if found := r.damage(t); len(found) != 0 {
			t.Errorf("%s: after the repair: %+v", what, found)
		}
	}

	must(t, unix.Mount("/proc/self/mem", link, "", unix.MS_BIND, "")) // its first page cannot be read
	t.Cleanup(func() { _ = unix.Unmount(link, unix.MNT_DETACH) })
	if _, err := r.pull(t, "team/app:1"); err == nil {
		t.Error("the pull did not need the link")
	}
	failing("link", "team/app/_manifests/tags/1/current/link", "input/output error", func() error { return unix.Unmount(link, 0) })
	if _, err := r.pull(t, "team/app:1"); err != nil {
		t.Errorf("after the repair: %v", err)
	}

	uploads := filepath.Join(pushed, repositoriesPath, "team/app/_uploads") // the open ledger keeps the rest writable
	must(t, unix.Mount("tmpfs", uploads, "tmpfs", unix.MS_NODEV|unix.MS_RDONLY, "size=1m"))
	t.Cleanup(func() { _ = unix.Unmount(uploads, unix.MNT_DETACH) })
	for range 3 { // all are one entry
		if resp, body := r.send(t, http.MethodPost, "/v2/team/app/blobs/uploads/", nil); resp.StatusCode < 500 {
			t.Errorf("push: %s %s", resp.Status, body)
		}
	}
	failing("read-only", "team/app/_uploads/", "read-only file system", func() error {
		return unix.Mount("", uploads, "", unix.MS_REMOUNT|unix.MS_NODEV, "")
	})
	if left, err := os.ReadDir(uploads); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
