package owed_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/cluster/owed"
)

// TestRecord: a debt keeps the time of its beginning until it is paid.
func TestRecord(t *testing.T) {
	file := owed.File(filepath.Join(t.TempDir(), "owed.json"))
	first := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	later := first.Add(48 * time.Hour)

	got, err := file.Read()
	require.NoError(t, err)
	assert.Empty(t, got)
	require.NoError(t, file.Paid(owed.Join, "node7"))
	assert.NoFileExists(t, string(file))

	require.NoError(t, file.Owe(
		owed.Debt{Node: "node7", Command: owed.Join, Why: "log in: refused", Since: first},
		owed.Debt{Node: "node5", Command: owed.Join, Why: "left out with --limit", Since: first},
	))
	require.NoError(t, file.Owe(
		owed.Debt{Node: "node7", Command: owed.Join, Why: "preflight\n  failed", Since: later},
		owed.Debt{Node: "node7", Command: owed.Upgrade, Why: "hung", Since: later},
	))
	got, err = file.Read()
	require.NoError(t, err)
	assert.Equal(t, []owed.Debt{
		{Node: "node5", Command: owed.Join, Why: "left out with --limit", Since: first},
		{Node: "node7", Command: owed.Join, Why: "preflight failed", Since: first},
		{Node: "node7", Command: owed.Upgrade, Why: "hung", Since: later},
	}, got)
	info, err := os.Stat(string(file))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode())

	require.NoError(t, file.Done("node5", owed.Upgrade, owed.Rollback))
	require.NoError(t, file.Paid(owed.Join, "node5", "node7", "node9"))
	got, err = file.Read()
	require.NoError(t, err)
	assert.Equal(t, []owed.Debt{{Node: "node7", Command: owed.Upgrade, Why: "hung", Since: later}}, got)
	require.NoError(t, file.Forget("node7"))
	got, err = file.Read()
	require.NoError(t, err)
	assert.Empty(t, got)
}

// TestSince: a debt without a time begins now, and a long reason is cut.
func TestSince(t *testing.T) {
	file := owed.File(filepath.Join(t.TempDir(), "owed.json"))
	require.NoError(t, file.Owe())
	assert.NoFileExists(t, string(file))
	require.NoError(t, file.Owe(owed.Debt{Node: "node5", Command: owed.Join, Why: strings.Repeat("가", 1000)}))
	got, err := file.Read()
	require.NoError(t, err)
	require.Len(t, got, 1)
	assert.WithinDuration(t, time.Now(), got[0].Since, time.Minute)
	assert.Len(t, []rune(got[0].Why), 401)
}

// TestBrokenRecord: a record that cannot be read is an error, and stays as it is.
func TestBrokenRecord(t *testing.T) {
	file := owed.File(filepath.Join(t.TempDir(), "owed.json"))
	require.NoError(t, os.WriteFile(string(file), []byte("{"), 0o600))
	for name, do := range map[string]func() error{
		"read": func() error { _, err := file.Read(); return err },
		"owe":  func() error { return file.Owe(owed.Debt{Node: "node5", Command: owed.Join}) },
		"paid": func() error { return file.Paid(owed.Join, "node5") },
	} {
		assert.ErrorContains(t, do(), "read the record of owed hosts: ", name)
	}
	text, err := os.ReadFile(string(file))
	require.NoError(t, err)
	assert.Equal(t, "{", string(text))
}

func TestAgain(t *testing.T) {
	for command, want := range map[string]string{owed.Join: "airgap install DIR", owed.Upgrade: "airgap upgrade DIR", owed.Rollback: "airgap rollback"} {
		assert.Equal(t, want, owed.Debt{Command: command}.Again())
	}
}
