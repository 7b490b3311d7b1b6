package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPasswd: the prefixes are stored with the user, and a reserved name is refused before any write.
func TestPasswd(t *testing.T) {
	file := filepath.Join(t.TempDir(), "htpasswd")
	passwd := func(args ...string) (int, string) {
		var out, errs strings.Builder
		code := run(t.Context(), append([]string{"registry", "passwd", "ci", "--users", file}, args...), strings.NewReader("a password\n"), &out, &errs)
		return code, out.String() + errs.String()
	}
	code, said := passwd("--prefix", "docker.io/")
	if _, err := os.Stat(file); code == 0 || err == nil || !strings.Contains(said, "names of docker.io are reserved for bundles") {
		t.Errorf("%d, %v: %s", code, err, said)
	}
	if code, said := passwd("--prefix", "team-a/", "--prefix", "team-b/"); code != 0 || !strings.Contains(said, "ci may push to this host's registry, below team-a/, team-b/") {
		t.Errorf("%d: %s", code, said)
	}
	text, err := os.ReadFile(file)
	if err != nil || !strings.HasPrefix(string(text), "#prefixes:ci:team-a/ team-b/\nci:$2") {
		t.Errorf("%v: %s", err, text)
	}
}
