package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"airgap.dev/airgap/internal/host"
)

// TestReadInput: files without an end, and pipes without a writer, end with an answer.
func TestReadInput(t *testing.T) {
	dir := t.TempDir()
	file, fifo := filepath.Join(dir, "file"), filepath.Join(dir, "fifo")
	require.NoError(t, os.WriteFile(file, []byte("text"), 0o600))
	require.NoError(t, unix.Mkfifo(fifo, 0o600))
	for path, want := range map[string]string{file: "text", fifo: "", os.DevNull: ""} {
		got, err := host.ReadInput(path, 1<<20)
		require.NoError(t, err, path)
		assert.Equal(t, want, string(got), path)
	}
	for path, says := range map[string]string{"/dev/zero": "/dev/zero has more than 1 MiB", dir: "is a directory", file + "s": "no such file"} {
		_, err := host.ReadInput(path, 1<<20)
		assert.ErrorContains(t, err, says)
	}
	r, w, err := os.Pipe()
	require.NoError(t, err)
	go func() { _, _ = w.WriteString("late"); w.Close() }()
	got, err := host.ReadInput(fmt.Sprintf("/dev/fd/%d", r.Fd()), 1<<20)
	require.NoError(t, err)
	assert.Equal(t, "late", string(got))
}
