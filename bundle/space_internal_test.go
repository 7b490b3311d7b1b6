package bundle

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSpaceThatIsTakenAlready: the blocks of an interrupted copy are already allocated,
// under the temporary or the final name of the part.
func TestSpaceThatIsTakenAlready(t *testing.T) {
	const size = 4 << 20
	draft := &Index{Parts: []Part{{Name: "bundle.tar.000", Size: size}, {Name: "bundle.tar.001", Size: size}}}
	free := func(bytes int64) func(string) (space, error) {
		return func(string) (space, error) { return space{free: bytes}, nil }
	}
	dir := t.TempDir()
	if err := checkSpace(dir, draft, nil, free(slack+size)); err == nil || !strings.Contains(err.Error(), "no space: needs") {
		t.Errorf("half the space: got %v", err)
	}
	for i, name := range []string{"bundle.tar.000", "bundle.tar.001" + copySuffix} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := checkSpace(dir, draft, nil, free(slack+int64(1-i)*size)); err != nil {
			t.Errorf("with %d parts: %v", i+1, err)
		}
	}
}
