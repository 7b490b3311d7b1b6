package hostcheck

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReportFiles: a directory that a drive has carried has other names, and files that desktops add.
func TestReportFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "with [a wildcard]")
	require.NoError(t, os.Mkdir(dir, 0o755))
	_, err := reportFiles(dir)
	require.ErrorContains(t, err, "no *.json in")
	for _, name := range []string{"cp1.json", "._cp1.json", "W1.JSON", "notes.txt"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	files, err := reportFiles(dir)
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(dir, "W1.JSON"), filepath.Join(dir, "cp1.json")}, files)
}
