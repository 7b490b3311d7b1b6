package remote

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func leftovers(t *testing.T) int {
	t.Helper()
	left, err := filepath.Glob("/var/tmp/airgap-ssh.*")
	if err != nil {
		t.Fatal(err)
	}
	return len(left)
}

func TestRunWithFiles(t *testing.T) {
	c, _ := connected(t)
	before := leftovers(t)
	big := bytes.Repeat([]byte("x\x00\n"), 1<<19)
	var out bytes.Buffer
	err := c.RunWith(t.Context(), []File{{"a b", []byte("one")}, {"empty", nil}, {"big", big}}, Command{
		Args:  []string{"sh", "-c", `ls -l | cut -c1-10 | sort -u; cat "a b"; wc -c <big; wc -c <empty; cat; exit 3`},
		Stdin: strings.NewReader("the rest"), Stdout: &out,
	})
	exit, is := errors.AsType[*ExitError](err)
	if !is || exit.Code != 3 || exit.Args[0] != "sh" || strings.Contains(err.Error(), "mktemp") {
		t.Errorf("got %v, want exit status 3 of the command itself", err)
	}
	if got := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(got, "-rw------- ") || !strings.HasSuffix(got, "one1572864 0 the rest") {
		t.Errorf("the command saw %q", got)
	}
	if after := leftovers(t); after != before {
		t.Errorf("%d directories are left", after-before)
	}
}

// TestRunWithRemovesOldDirectories: a power cut left them. Directories of other names and links stay.
func TestRunWithRemovesOldDirectories(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the directories must be root's")
	}
	c, _ := connected(t)
	base := t.TempDir()
	old := time.Now().Add(-48 * time.Hour)
	for name, left := range map[string]bool{"airgap-ssh.test01": false, "airgap-ssh.test02": true, "airgap-ssh-test03": true} {
		dir := filepath.Join("/var/tmp", name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		if name != "airgap-ssh.test02" { // a new one
			if err := os.Chtimes(dir, old, old); err != nil {
				t.Fatal(err)
			}
		}
		t.Cleanup(func() {
			if _, err := os.Stat(dir); (err == nil) != left {
				t.Errorf("%s: %v", dir, err)
			}
		})
	}
	link := "/var/tmp/airgap-ssh.test04"
	if err := os.Symlink(base, link); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(link) })
	if err := c.RunWith(t.Context(), []File{{"a", nil}}, Command{Args: []string{"true"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(base); err != nil {
		t.Error(err)
	}
}

// TestRunWithLeavesNothing ends it while the command runs.
func TestRunWithLeavesNothing(t *testing.T) {
	c, _ := connected(t)
	before := leftovers(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begun := make(chan struct{})
	go func() { <-begun; cancel() }()
	err := c.RunWith(ctx, []File{{"a", []byte("one")}}, Command{Args: []string{"sh", "-c", "echo; exec sleep 0.3"}, Stdout: &signal{c: begun}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if after := leftovers(t); after != before {
		t.Errorf("%d directories are left", after-before)
	}
}
