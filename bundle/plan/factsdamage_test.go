package plan

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/preflight/facts"
)

// TestDamagedFacts: a copy that ends too early has one message in all formats, and it and other damage have a hint.
func TestDamagedFacts(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write([]byte(strings.Repeat("-- facts/ --\n", 100)))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	whole := packed.Bytes()
	changed := bytes.Clone(whole)
	changed[len(changed)-5] ^= 1
	var written bytes.Buffer
	require.NoError(t, (&facts.Facts{Schema: facts.Schema, Host: "a"}).Write(&written))
	const incomplete = "the survey is incomplete"
	for name, c := range map[string]struct {
		file, want string
		content    []byte
	}{
		"empty text":        {"a.survey", incomplete, nil},
		"truncated text":    {"a.survey", incomplete, []byte("-- facts/ --\n")},
		"empty YAML":        {"a.facts.yaml", incomplete, nil},
		"truncated YAML":    {"a.facts.yaml", incomplete, written.Bytes()[:written.Len()-len("end: true\n")]},
		"empty archive":     {"a.survey.gz", incomplete, nil},
		"start of a header": {"a.survey.gz", incomplete, whole[:5]},
		"truncated archive": {"a.survey.gz", incomplete, whole[:len(whole)-9]},
		"without its sum":   {"a.survey.gz", incomplete, whole[:len(whole)-4]},
		"truncated before":  {"a.survey.gz", incomplete, whole},
		"another format":    {"a.survey.gz", "gzip: invalid header", []byte("-- facts/ --\n-- end/ --\n")},
		"a changed sum":     {"a.survey.gz", "gzip: invalid checksum", changed},
		"changed contents":  {"a.survey.gz", "flate: corrupt input", append(bytes.Clone(whole[:10]), 7, 7, 7)},
	} {
		path := filepath.Join(t.TempDir(), c.file)
		require.NoError(t, os.WriteFile(path, c.content, 0o600))
		_, err := LoadFacts(t.Context(), path)
		require.ErrorContains(t, err, "read facts of "+path+": "+c.want, name)
		assert.NotContains(t, err.Error(), "EOF", name)
		assert.Contains(t, advice.Of(err), "copy the file from the server again", name)
	}
}

// TestSurveyFiles: names in upper case are found, and files of desktops are not read.
func TestSurveyFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"CP1.SURVEY", "cp2.survey.gz", "W1.FACTS.YAML", "._cp1.survey", "._w1.facts.yaml", ".DS_Store", "notes.txt"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	files, err := surveyFiles(dir)
	require.NoError(t, err)
	for i, f := range files {
		files[i] = filepath.Base(f)
	}
	assert.Equal(t, []string{"W1.FACTS.YAML", "CP1.SURVEY", "cp2.survey.gz"}, files)

	var written bytes.Buffer
	require.NoError(t, (&facts.Facts{Schema: facts.Schema, Host: "w1"}).Write(&written))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "W1.FACTS.YAML"), bytes.ReplaceAll(written.Bytes(), []byte("\n"), []byte("\r\n")), 0o600))
	read, err := LoadFacts(t.Context(), filepath.Join(dir, "W1.FACTS.YAML"))
	require.NoError(t, err)
	assert.Equal(t, "w1", read.Host)
}
