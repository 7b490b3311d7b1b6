package registry

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/opencontainers/go-digest"
	"golang.org/x/sys/unix"

	"airgap.dev/airgap/bundle/bundletest"
)

// unfinished returns the names of the unfinished uploads.
func unfinished(t *testing.T, pushed string) (names []string) {
	t.Helper()
	must(t, filepath.WalkDir(pushed, func(path string, _ fs.DirEntry, err error) error {
		if filepath.Base(filepath.Dir(path)) == "_uploads" {
			names = append(names, path)
		}
		return err
	}))
	return names
}

// beginUpload returns the location of a new upload.
func (r *running) beginUpload(t *testing.T) string {
	t.Helper()
	resp, body := r.send(t, http.MethodPost, "/v2/team/app/blobs/uploads/", nil)
	if resp.StatusCode != http.StatusAccepted {
		t.Fatalf("begin upload: %s %s", resp.Status, body)
	}
	return resp.Header.Get("Location")
}

func wantFull(t *testing.T, what string, resp *http.Response, body []byte) {
	t.Helper()
	if resp.StatusCode != http.StatusInsufficientStorage || !bytes.Contains(body, []byte(`"DENIED"`)) || !bytes.Contains(body, []byte("garbage-collect")) {
		t.Errorf("%s: %s %s", what, resp.Status, body)
	}
}

// TestFullDiskIs507: each request that writes is refused with 507, the partial upload is removed, healthz has the reason, and
// deletions and pulls work.
func TestFullDiskIs507(t *testing.T) {
	users, pushed := filepath.Join(t.TempDir(), "htpasswd"), t.TempDir()
	writeUser(t, users)
	var left atomic.Int64
	left.Store(10 * reserve)
	r := startWith(t, Options{Pushed: pushed, Users: users, free: func() (int64, error) { return left.Load(), nil }})
	image := bundletest.RandomImage(t, 1000, 1, "amd64")
	must(t, remote.Write(r.ref(t, "team/app:1"), image, r.login()...))
	manifest, err := image.RawManifest()
	must(t, err)
	mediaType, err := image.MediaType()
	must(t, err)
	upload := strings.TrimPrefix(r.beginUpload(t), "https://"+r.addr)
	if n := len(unfinished(t, pushed)); n != 1 {
		t.Fatalf("%d uploads", n)
	}
	left.Store(reserve - 1)
	resp, body := r.send(t, http.MethodPost, "/v2/team/app/blobs/uploads/", nil)
	wantFull(t, "POST", resp, body)
	resp, body = r.send(t, http.MethodPut, "/v2/team/app/manifests/2", manifest, "Content-Type", string(mediaType))
	wantFull(t, "PUT of a manifest", resp, body)
	resp, body = r.send(t, http.MethodPatch, upload, []byte("data"), "Content-Type", "application/octet-stream")
	wantFull(t, "PATCH", resp, body)
	if names := unfinished(t, pushed); len(names) != 0 {
		t.Errorf("partial uploads stay: %v", names)
	}
	health, err := r.peer(t).Health(t.Context())
	if err != nil || !strings.Contains(health.Problem, "pushes are refused: the registry's disk is full") {
		t.Errorf("health: %+v, %v", health, err)
	}
	if _, err := r.pull(t, "team/app:1"); err != nil {
		t.Errorf("pull: %v", err)
	}
	for _, reference := range []string{"1", digestOf(t, image)} {
		if resp, body := r.send(t, http.MethodDelete, "/v2/team/app/manifests/"+reference, nil); resp.StatusCode != http.StatusAccepted {
			t.Errorf("delete %s: %s %s", reference, resp.Status, body)
		}
	}
	left.Store(10 * reserve)
	if health, err := r.peer(t).Health(t.Context()); err != nil || health.Problem != "" {
		t.Errorf("with space again: %+v, %v", health, err)
	}
}

// TestDiskFillsDuringUpload: the disk has space at the start of each request, and none later.
func TestDiskFillsDuringUpload(t *testing.T) {
	users, pushed := filepath.Join(t.TempDir(), "htpasswd"), t.TempDir()
	writeUser(t, users)
	var full atomic.Bool
	var asked atomic.Int64
	free := func() (int64, error) {
		if full.Load() && asked.Add(1) > 1 {
			return 0, nil
		}
		return 10 * reserve, nil
	}
	r := startWith(t, Options{Pushed: pushed, Users: users, free: free})
	data := bytes.Repeat([]byte("data"), 1000)
	d := digest.FromBytes(data).String()
	for _, method := range []string{http.MethodPatch, http.MethodPut} {
		upload := r.beginUpload(t)
		asked.Store(0)
		full.Store(true)
		resp, body := r.send(t, method, upload+"&digest="+d, data, "Content-Type", "application/octet-stream")
		full.Store(false)
		wantFull(t, method, resp, body)
		if names := unfinished(t, pushed); len(names) != 0 {
			t.Errorf("%s: partial uploads stay: %v", method, names)
		}
		if resp, _, err := r.get(t, http.MethodHead, "/v2/team/app/blobs/"+d); err != nil || resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s: the blob exists: %s, %v", method, resp.Status, err)
		}
	}
	asked.Store(0)
	full.Store(true)
	resp, body := r.send(t, http.MethodPut, "/v2/team/app/manifests/1", []byte("{}"), "Content-Type", acceptAll)
	full.Store(false)
	wantFull(t, "PUT of a manifest", resp, body)
}

// TestSmallFileSystem: the kernel reports that the disk is full, in each of the engine's writes.
func TestSmallFileSystem(t *testing.T) {
	pushed := t.TempDir()
	if err := unix.Mount("tmpfs", pushed, "tmpfs", unix.MS_NODEV, "size=1m,mode=0700"); err != nil {
		t.Skipf("mount a small file system: %v", err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(pushed, unix.MNT_DETACH)) })
	users := filepath.Join(t.TempDir(), "htpasswd")
	writeUser(t, users)
	r := startWith(t, Options{Pushed: pushed, Users: users, free: func() (int64, error) { return 10 * reserve, nil }})
	small := bundletest.RandomImage(t, 100_000, 1, "amd64")
	must(t, remote.Write(r.ref(t, "team/app:1"), small, r.login()...))
	big := bytes.Repeat([]byte("0123456789abcdef"), 65_000) // little more than the space: net/http drains the rest
	for _, method := range []string{http.MethodPatch, http.MethodPut} {
		resp, body := r.send(t, method, r.beginUpload(t)+"&digest="+digest.FromBytes(big).String(), big, "Content-Type", "application/octet-stream")
		wantFull(t, method, resp, body)
		if names := unfinished(t, pushed); len(names) != 0 {
			t.Errorf("%s: partial uploads stay: %v", method, names)
		}
		must(t, removedButOpen(t, pushed)) // it would use space
	}
	filler := filepath.Join(pushed, "filler")
	if err := os.WriteFile(filler, make([]byte, 2<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("fill: %v", err)
	}
	resp, body := r.send(t, http.MethodPost, "/v2/team/app/blobs/uploads/", nil)
	wantFull(t, "POST", resp, body)
	if names := unfinished(t, pushed); len(names) != 0 {
		t.Errorf("POST: the upload stays: %v", names)
	}
	if resp, body := r.send(t, http.MethodDelete, "/v2/team/app/manifests/"+digestOf(t, small), nil); resp.StatusCode != http.StatusAccepted {
		t.Errorf("delete: %s %s", resp.Status, body)
	}
	if _, err := r.pull(t, "team/app:1"); err == nil {
		t.Error("the deleted image is still there")
	}
}

// removedButOpen returns an error if this process has a removed file of a directory open.
func removedButOpen(t *testing.T, dir string) error {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	for _, e := range entries {
		name, _ := os.Readlink("/proc/self/fd/" + e.Name()) // "" if it was closed in the meantime
		if strings.HasPrefix(name, dir+"/") && strings.HasSuffix(name, " (deleted)") {
			return fmt.Errorf("%s is open", name)
		}
	}
	return nil
}
