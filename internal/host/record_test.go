package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host"
)

func TestRecords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "undo", "modes.json")
	if got, err := host.ReadJSON[map[string]int](path); err != nil || got != nil {
		t.Errorf("without a file: %v, %v", got, err)
	}
	if err := host.WriteJSON(path, map[string]int{"a": 1}); err != nil {
		t.Fatal(err)
	}
	if holds, err := host.FileMatches(path, []byte("{\n  \"a\": 1\n}\n"), 0o600); err != nil || !holds {
		t.Errorf("the file is up to date: %v, %v", holds, err)
	}
	if got, err := host.ReadJSON[map[string]int](path); err != nil || got["a"] != 1 {
		t.Errorf("read back %v, %v", got, err)
	}
	if _, err := host.ReadJSON[[]string](path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("of another kind: %v", err)
	}
	if err := host.WriteJSON(path, func() {}); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a value without JSON: %v", err)
	}
}

func TestIgnoreMissing(t *testing.T) {
	if err := host.IgnoreMissing(&os.PathError{Err: os.ErrNotExist}); err != nil {
		t.Error(err)
	}
	if other := errors.New("other"); !errors.Is(host.IgnoreMissing(other), other) || host.IgnoreMissing(nil) != nil {
		t.Error("another error is lost, or made")
	}
}
