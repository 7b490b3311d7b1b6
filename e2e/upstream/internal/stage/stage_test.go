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
		{"a", broken, true}, // what did not end is not done
		{"a", nil, true},
		{"a", nil, false},
		{"b", nil, true},
		{"b", nil, false},
		{"a", nil, true},
	} {
		ran, err := log.Do("image registry/x:1", step.key, func() error { return step.fail })
		if ran != step.runs || !errors.Is(err, step.fail) {
			t.Errorf("key %s: ran %t, %v", step.key, ran, err)
		}
	}
	if n := strings.Count(progress.String(), " s\n"); n != 3 {
		t.Errorf("%d finished stages were told, not 3:\n%s", n, progress.String())
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
		t.Errorf("the second lock: %v", err)
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
			t.Errorf("the key of an unchanged tree: %s, then %s, %v", key, again, err)
		}
		keys[key] = true
	}
	if len(keys) != 3 {
		t.Errorf("%d keys of 3 trees", len(keys))
	}
}
