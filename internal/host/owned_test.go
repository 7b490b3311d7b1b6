package host

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// stranger is a user that no file of the tests belongs to otherwise.
const stranger = 54321

// owned returns a directory of another user if the test may create one, else of this user,
// and next to it a file that only this user may read.
func owned(t *testing.T) (o *Owned, dir, shadow string) {
	t.Helper()
	dir, shadow = filepath.Join(t.TempDir(), "theirs"), filepath.Join(t.TempDir(), "shadow")
	must(t, os.Mkdir(dir, 0o755), os.WriteFile(shadow, []byte("root:secret"), 0o600))
	if os.Geteuid() == 0 {
		must(t, os.Chown(dir, stranger, stranger))
	}
	o, err := OpenOwned(dir)
	must(t, err)
	t.Cleanup(func() { o.Close() })
	return o, dir, shadow
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

// untouched fails when the file is another one than owned made.
func untouched(t *testing.T, shadow string) {
	t.Helper()
	info, err := os.Lstat(shadow)
	must(t, err)
	data, err := os.ReadFile(shadow)
	must(t, err)
	if uid := info.Sys().(*syscall.Stat_t).Uid; string(data) != "root:secret" || info.Mode() != 0o600 || int(uid) != os.Geteuid() {
		t.Errorf("shadow is now %q, mode %s, of user %d", data, info.Mode(), uid)
	}
}

func TestOwnedHandsOver(t *testing.T) {
	o, dir, _ := owned(t)
	for range 2 {
		must(t, o.Write("a/b/data", 0o640, text("bytes")))
	}
	for _, name := range []string{"a", "a/b", "a/b/data"} {
		info, err := os.Lstat(filepath.Join(dir, name))
		must(t, err)
		if uid := int(info.Sys().(*syscall.Stat_t).Uid); os.Geteuid() == 0 && uid != stranger {
			t.Errorf("%s belongs to user %d", name, uid)
		}
	}
	data, err := o.ReadFile("a/b/data", 5)
	if string(data) != "bytes" || err != nil {
		t.Errorf("read %q, %v", data, err)
	}
	if _, err := o.ReadFile("a/b/data", 4); err == nil || !strings.Contains(err.Error(), "larger than 4 bytes") {
		t.Errorf("a file over the limit: %v", err)
	}
}

// TestOwnedRefuses: links and files that the directory's user plants have no effect.
func TestOwnedRefuses(t *testing.T) {
	for name, plant := range map[string]func(dir, shadow string) error{
		"link to a file":          func(dir, shadow string) error { return os.Symlink(shadow, dir+"/data") },
		"link to a directory":     func(dir, shadow string) error { return os.Symlink(filepath.Dir(shadow), dir+"/sub") },
		"link upwards":            func(dir, _ string) error { return os.Symlink("../..", dir+"/sub") },
		"hard link":               func(dir, shadow string) error { return os.Link(shadow, dir+"/data") },
		"FIFO":                    func(dir, _ string) error { return syscall.Mkfifo(dir+"/data", 0o666) },
		"directory":               func(dir, _ string) error { return os.Mkdir(dir+"/data", 0o755) },
		"link to a file by a dir": func(dir, shadow string) error { return os.Symlink(shadow, dir+"/sub") },
	} {
		t.Run(name, func(t *testing.T) {
			if name == "hard link" && os.Geteuid() != 0 {
				t.Skip("only root can make one to a file of a third user")
			}
			o, dir, shadow := owned(t)
			must(t, plant(dir, shadow))
			file := "data"
			if _, err := os.Lstat(dir + "/sub"); err == nil {
				file = "sub/shadow"
				if err := o.Write("sub/new", 0o644, text("planted")); err == nil {
					t.Error("wrote through the link")
				}
			}
			if f, err := o.Open(file); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, file)) {
				t.Errorf("opened %v, %v", f, err)
			}
			untouched(t, shadow)
			if left, err := os.ReadDir(filepath.Dir(shadow)); err != nil || len(left) != 1 {
				t.Errorf("next to shadow: %v, %v", left, err)
			}
		})
	}
}

// TestOwnedRaces: the user swaps files while root writes.
func TestOwnedRaces(t *testing.T) {
	for name, link := range map[string]func(target, name string) error{"link": os.Symlink, "hard link": os.Link} {
		t.Run(name, func(t *testing.T) {
			o, dir, shadow := owned(t)
			must(t, link(shadow, Draft(dir+"/data")), link(shadow, dir+"/data"))
			err := o.Write("data", 0o666, func(w io.Writer) error {
				must(t, os.Remove(Draft(dir+"/data")), link(shadow, Draft(dir+"/data")))
				return text("planted")(w)
			})
			t.Log(err)
			untouched(t, shadow)
		})
	}
	t.Run("directory", func(t *testing.T) {
		o, dir, shadow := owned(t)
		must(t, o.Write("a/data", 0o644, text("1")))
		err := o.Write("a/data", 0o644, func(w io.Writer) error {
			must(t, os.Rename(dir+"/a", dir+"/old"), os.Symlink(filepath.Dir(shadow), dir+"/a"))
			return text("planted")(w)
		})
		if err == nil {
			t.Error("no error")
		}
		if _, err := os.Lstat(filepath.Join(filepath.Dir(shadow), "data")); err == nil {
			t.Error("wrote next to shadow")
		}
		untouched(t, shadow)
	})
}
