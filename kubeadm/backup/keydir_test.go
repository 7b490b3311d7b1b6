package backup

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestKeyDir: the result of install is up to date, a change of recipients is detected, and reset leaves
// nothing.
func TestKeyDir(t *testing.T) {
	d := KeyDir(filepath.Join(t.TempDir(), "backup-key"))
	to := []string{newIdentity(t).Recipient().String(), newIdentity(t).Recipient().String()}
	holds := func(recipients []string, want bool) {
		t.Helper()
		if got, err := d.holds(recipients); got != want || err != nil {
			t.Errorf("holds %v: %v, %v", recipients, got, err)
		}
	}
	said := func(recipients []string, want ...string) {
		t.Helper()
		changes, err := d.plan(recipients)
		if err != nil || len(changes) != len(want) {
			t.Fatalf("planned %q, %v", changes, err)
		}
		for i, part := range want {
			if !strings.Contains(changes[i], part) {
				t.Errorf("planned %q, want %q", changes[i], part)
			}
		}
	}
	holds(nil, false)
	said(to, "make the key", "encrypt backups to "+to[0])
	if err := d.setUp(to); err != nil {
		t.Fatal(err)
	}
	holds(to, true)
	holds(nil, false)
	said(to)
	said(nil, "encrypt backups no longer")
	before, err := d.Public()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := d.Recipients(); err != nil || !slices.Equal(got, to) {
		t.Errorf("recipients are %v, %v", got, err)
	}
	if err := d.setUp(nil); err != nil {
		t.Fatal(err)
	}
	holds(nil, true)
	if after, err := d.Public(); err != nil || !before.Equal(after) {
		t.Errorf("the key has changed: %v", err)
	}
	if err := d.remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(string(d)); err == nil {
		t.Error("reset leaves the key")
	}
}
