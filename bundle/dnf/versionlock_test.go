package dnf

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/nevra"
)

const operatorLocks = "# by hand\nkernel-0:5.14.0-570.el9.*\nopenssl-1:3.2.2-6.el9.*" // without a final newline

func lockable(t *testing.T, list string, packages ...string) VersionLock {
	t.Helper()
	l := VersionLock{Root: t.TempDir(), UndoFile: filepath.Join(t.TempDir(), "versionlock.json")}
	for _, p := range packages {
		n, err := nevra.Parse(p)
		if err != nil {
			t.Fatal(err)
		}
		l.Packages = append(l.Packages, n)
	}
	if err := os.MkdirAll(l.path("/etc/dnf/plugins"), 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, l.path(versionlockConf), "[main]\nenabled = 1\nlocklist = /etc/dnf/plugins/versionlock.list\n")
	put(t, l.path("/etc/dnf/plugins/versionlock.list"), list)
	return l
}

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (l VersionLock) text(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(l.path("/etc/dnf/plugins/versionlock.list"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func runs(t *testing.T, l VersionLock) {
	t.Helper()
	s := VersionLockStep(l)
	for _, want := range []bool{false, true} {
		if done, err := s.Done(t.Context()); err != nil || done != want {
			t.Fatalf("done: %v, %v; want %v", done, err, want)
		}
		if err := s.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestVersionLock(t *testing.T) {
	l := lockable(t, operatorLocks, "kubelet-0:1.36.3-150500.1.1.x86_64", "cri-tools-0:1.36.0-150500.1.1.x86_64")
	if plan, err := l.plan(); err != nil || !slices.Contains(plan, "add kubelet-0:1.36.3-150500.1.1.* to /etc/dnf/plugins/versionlock.list") || len(plan) != 2 {
		t.Errorf("plan %q, %v", plan, err)
	}
	runs(t, l)
	if got, want := l.text(t), operatorLocks+"\n"+lockComment+"\nkubelet-0:1.36.3-150500.1.1.*\ncri-tools-0:1.36.0-150500.1.1.*\n"; got != want {
		t.Errorf("list is\n%s", got)
	}
	for range 2 {
		if err := VersionLockStep(VersionLock{Root: l.Root, UndoFile: l.UndoFile}).Undo(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := l.text(t); got != operatorLocks {
		t.Errorf("after the undo the list is\n%s", got)
	}
}

// TestVersionLockKeepsLaterChanges: the undo keeps the operator's changes of the list.
func TestVersionLockKeepsLaterChanges(t *testing.T) {
	l := lockable(t, operatorLocks, "kubelet-0:1.36.3-150500.1.1.x86_64")
	runs(t, l)
	put(t, l.path("/etc/dnf/plugins/versionlock.list"), strings.Replace(l.text(t), "# by hand\n", "", 1)+"glibc-0:2.34-1.*\n")
	if err := VersionLockStep(l).Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := l.text(t); got != "kernel-0:5.14.0-570.el9.*\nopenssl-1:3.2.2-6.el9.*\nglibc-0:2.34-1.*\n" {
		t.Errorf("list is\n%s", got)
	}
}

// TestVersionLockOfAnotherRelease: an existing lock of the operator stays, airgap's lock of
// an older release is removed.
func TestVersionLockOfAnotherRelease(t *testing.T) {
	existing := "kubectl-0:1.36.3-150500.1.1.*\n"
	l := lockable(t, existing, "kubelet-0:1.36.3-150500.1.1.x86_64", "kubectl-0:1.36.3-150500.1.1.x86_64")
	runs(t, l)
	l.Packages[0].Version = "1.36.4"
	runs(t, l)
	if got := l.text(t); strings.Contains(got, "kubelet-0:1.36.3") || strings.Count(got, "kubelet-0:1.36.4-150500.1.1.*\n") != 1 {
		t.Errorf("list is\n%s", got)
	}
	if err := VersionLockStep(l).Undo(t.Context()); err != nil || l.text(t) != existing {
		t.Errorf("after the undo, %v:\n%s", err, l.text(t))
	}
}

// TestVersionLockOfAnEarlierAirgap: the current comment replaces the comment of an earlier
// airgap.
func TestVersionLockOfAnEarlierAirgap(t *testing.T) {
	const earlier = "# Locked by airgap: Kubernetes is upgraded by airgap upgrade."
	l := lockable(t, operatorLocks, "kubelet-0:1.36.3-150500.1.1.x86_64")
	if err := l.lock(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{l.UndoFile, l.path("/etc/dnf/plugins/versionlock.list")} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		put(t, name, strings.Replace(string(text), lockComment, earlier, 1))
	}
	runs(t, l)
	if got := l.text(t); strings.Contains(got, earlier) || strings.Count(got, lockComment+"\n") != 1 || strings.Count(got, "kubelet") != 1 {
		t.Errorf("list is\n%s", got)
	}
	if err := VersionLockStep(l).Undo(t.Context()); err != nil || l.text(t) != operatorLocks {
		t.Errorf("after the undo, %v:\n%s", err, l.text(t))
	}
}

func TestUnlocked(t *testing.T) {
	l := lockable(t, operatorLocks, "kubelet-0:1.36.3-150500.1.1.x86_64", "kubectl-0:1.36.3-150500.1.1.x86_64")
	want := func(what string, packages ...string) {
		t.Helper()
		if got, err := l.Unlocked(); err != nil || !slices.Equal(got, packages) {
			t.Errorf("%s: got %q, %v; want %q", what, got, err, packages)
		}
	}
	want("before the lock", "kubelet-0:1.36.3-150500.1.1.x86_64", "kubectl-0:1.36.3-150500.1.1.x86_64")
	runs(t, l)
	want("after the lock")
	if state, err := l.Plugin(); err != nil || state != "" {
		t.Errorf("the plugin is %q, %v", state, err)
	}
	put(t, l.path("/etc/dnf/plugins/versionlock.list"), strings.Replace(l.text(t), "kubectl-0:1.36.3-150500.1.1.*\n", "", 1))
	want("with one lock removed", "kubectl-0:1.36.3-150500.1.1.x86_64")
	put(t, l.path(versionlockConf), "[main]\nenabled = 0\n")
	want("with the plugin disabled", "kubelet-0:1.36.3-150500.1.1.x86_64", "kubectl-0:1.36.3-150500.1.1.x86_64")
}

func TestVersionLockWithoutThePlugin(t *testing.T) {
	for name, conf := range map[string]string{"off": "[main]\nenabled=0\nlocklist=/etc/l\n", "off (no list)": "[main]\nenabled=1\n", "not installed": ""} {
		l := lockable(t, "", "kubelet-0:1.36.3-150500.1.1.x86_64")
		put(t, l.path(versionlockConf), conf)
		if conf == "" {
			if err := os.Remove(l.path(versionlockConf)); err != nil {
				t.Fatal(err)
			}
		}
		if done, err := VersionLockStep(l).Done(t.Context()); err != nil || !done {
			t.Errorf("%s: %v, %v", name, done, err)
		}
		if state, err := l.Plugin(); err != nil || state == "" || !strings.HasPrefix(name, state) {
			t.Errorf("%s: the plugin is %q, %v", name, state, err)
		}
	}
}
