package fleet

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLogsAreRotated: a large log makes room, and the one before it stays.
func TestLogsAreRotated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "node2.log")
	write := func(text string) {
		f, err := openRotated(path)
		require.NoError(t, err)
		_, err = f.WriteString(text)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	write("first ")
	write("second")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "first second", string(text))
	require.NoError(t, os.Truncate(path, maxLog))
	write("third")
	text, err = os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "third", string(text))
	old, err := os.Stat(path + ".1")
	require.NoError(t, err)
	assert.EqualValues(t, maxLog, old.Size())
	assert.EqualValues(t, 0o600, old.Mode().Perm())
}
