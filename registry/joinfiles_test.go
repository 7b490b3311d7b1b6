package registry

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestJoinFiles: /join/ serves regular files of its directory, and no targets of links.
func TestJoinFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "join")
	h := JoinFiles(dir)
	get := func(path string) (int, string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/join/"+path, nil))
		return w.Code, w.Body.String()
	}
	if code, _ := get("cluster.json"); code != http.StatusNotFound {
		t.Errorf("without the directory: %d", code)
	}
	must(t, os.Mkdir(dir, 0o755))
	secret := filepath.Join(filepath.Dir(dir), "ca.key")
	must(t, os.WriteFile(secret, []byte("PRIVATE KEY"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "cluster.json"), []byte("{}"), 0o644))
	must(t, os.Mkdir(filepath.Join(dir, "below"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "below", "file"), []byte("deep"), 0o644))
	must(t, os.Symlink(secret, filepath.Join(dir, "out")))
	must(t, os.Symlink("cluster.json", filepath.Join(dir, "in")))
	must(t, os.Symlink("..", filepath.Join(dir, "up")))
	must(t, syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o644))
	if code, text := get("cluster.json"); code != http.StatusOK || text != "{}" {
		t.Errorf("cluster.json: %d %s", code, text)
	}
	for _, path := range []string{"", "below", "below/", "below/file", "out", "in", "up/ca.key", "../ca.key", "fifo", "missing"} {
		if code, text := get(path); code != http.StatusNotFound || strings.Contains(text, "KEY") {
			t.Errorf("%q: %d %s", path, code, text)
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, "/join/cluster.json", nil))
		if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d, Allow %q", method, w.Code, w.Header().Get("Allow"))
		}
	}
}
