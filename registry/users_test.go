package registry

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestUsers(t *testing.T) {
	u := Users{File: filepath.Join(t.TempDir(), "htpasswd")}
	must(t, os.WriteFile(u.File, []byte("# ours\nold:$2y$05$x\n\n"), 0o600))
	must(t, u.Set("ci", "first"))
	before, err := os.ReadFile(u.File)
	must(t, err)
	must(t, u.Set("ci", "second"))
	after, err := os.ReadFile(u.File)
	must(t, err)
	if names, err := u.Names(); err != nil || !slices.Equal(names, []string{"old", "ci"}) {
		t.Errorf("users %v, %v", names, err)
	}
	if string(before) == string(after) || !strings.HasPrefix(string(after), "# ours\nold:$2y$05$x\nci:$2") || strings.Contains(string(after), "second") {
		t.Errorf("the file is\n%s", after)
	}
	if info, err := os.Stat(u.File); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	for name, password := range map[string]string{"a:b": "x", "": "x", "a b": "x", "#a": "x", "a\n": "x", "empty": "", "long": strings.Repeat("x", 73)} {
		if err := u.Set(name, password); err == nil || strings.Contains(err.Error(), "xxx") {
			t.Errorf("Set(%q, %d bytes): %v", name, len(password), err)
		}
	}
	for name, want := range map[string]bool{"ci": true, "none": false} {
		if removed, err := u.Remove(name); err != nil || removed != want {
			t.Errorf("Remove(%s): %t, %v", name, removed, err)
		}
	}
	if names, _ := u.Names(); !slices.Equal(names, []string{"old"}) {
		t.Errorf("users %v", names)
	}
	must(t, u.Set("last", "x"))
	other := Users{File: filepath.Join(t.TempDir(), "htpasswd")}
	must(t, other.Set("only", "x"))
	if removed, err := other.Remove("only"); err != nil || !removed {
		t.Error(removed, err)
	}
	if _, err := os.Stat(other.File); err == nil {
		t.Error("the file without users still exists")
	}
}

// TestUsersStep: the step writes the file unchanged, and Undo removes it.
func TestUsersStep(t *testing.T) {
	u := Users{File: filepath.Join(t.TempDir(), "htpasswd")}
	s := UsersStep(u, []byte("ci:hash\n"))
	for _, want := range []bool{false, true} {
		if done, err := s.Done(t.Context()); err != nil || done != want {
			t.Fatalf("Done is %v (%v), want %v", done, err, want)
		}
		must(t, s.Run(t.Context()))
	}
	if names, err := u.Names(); err != nil || !slices.Equal(names, []string{"ci"}) {
		t.Errorf("users %v, %v", names, err)
	}
	must(t, s.Undo(t.Context()))
	if names, err := u.Names(); err != nil || len(names) > 0 {
		t.Errorf("after Undo: %v, %v", names, err)
	}
}
