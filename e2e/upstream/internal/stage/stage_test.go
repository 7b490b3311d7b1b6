package stage

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestStageRunsOnceForAKey(t *testing.T) {
	var progress strings.Builder
	log, err := Open(t.TempDir(), &progress)
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("no space")
	for _, step := range []struct {
		key  string
		fail error
		runs bool
	}{
		{"a", broken, true}, // a failed stage is not finished
		{"a", nil, true},
		{"a", nil, false},
		{"b", nil, true},
		{"b", nil, false},
		{"a", nil, true},
	} {
		ran, err := log.Do("image registry/x:1", step.key, func() error { return step.fail })
		if ran != step.runs || !errors.Is(err, step.fail) {
			t.Errorf("key %s: got ran %t and error %v, want %t and %v", step.key, ran, err, step.runs, step.fail)
		}
	}
	if n := strings.Count(progress.String(), " s\n"); n != 3 {
		t.Errorf("got %d lines of finished stages, want 3:\n%s", n, progress.String())
	}
}

func TestSecondBuilderWaits(t *testing.T) {
	dir := t.TempDir()
	one, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := one.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := one.Lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v from the second lock, want it to wait", err)
	}
	unlock()
	unlock, err = one.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

func TestKeyOfTreeFollowsNamesAndContents(t *testing.T) {
	dir := t.TempDir()
	keys := map[string]bool{}
	for _, change := range []func() error{
		func() error { return os.WriteFile(filepath.Join(dir, "a"), []byte("1"), 0o644) },
		func() error { return os.WriteFile(filepath.Join(dir, "a"), []byte("2"), 0o644) },
		func() error { return os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "b")) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		key, err := KeyOfTree(dir)
		if err != nil {
			t.Fatal(err)
		}
		again, err := KeyOfTree(dir)
		if err != nil || again != key {
			t.Errorf("got keys %s and %s of an unchanged tree, error %v", key, again, err)
		}
		keys[key] = true
	}
	if len(keys) != 3 {
		t.Errorf("got %d keys of 3 different trees, want 3", len(keys))
	}
}
