package host

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestReadPrivateAsItsUser: root reads an SSH key from the home of the user who called
// sudo, and does not follow that user's links.
func TestReadPrivateAsItsUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	home, err := os.MkdirTemp("/var/tmp", "home") //nolint:usetesting // where a stranger may go
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(home) })
	_, _, shadow := owned(t)
	must(t, os.Chmod(filepath.Dir(shadow), 0o755))
	must(t, os.WriteFile(home+"/own", []byte("key"), 0o600), os.Symlink(shadow, home+"/link"), os.Link(shadow, home+"/hard"))
	must(t, os.Chown(home, stranger, stranger), os.Chown(home+"/own", stranger, stranger), os.Lchown(home+"/link", stranger, stranger))
	if text, err := ReadPrivate(home + "/own"); string(text) != "key" || err != nil {
		t.Errorf("its own key: %q, %v", text, err)
	}
	for _, name := range []string{"link", "hard"} {
		if text, err := ReadPrivate(filepath.Join(home, name)); !errors.Is(err, os.ErrPermission) {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if text, err := ReadPrivate(shadow); string(text) != "root:secret" || err != nil {
		t.Errorf("afterwards root's own: %q, %v", text, err)
	}
}
