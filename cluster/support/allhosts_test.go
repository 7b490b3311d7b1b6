package support

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/internal/ui"
)

// TestBundlesOfAllHosts: the archive has a file for each host and a summary, and a host without one is a line of it.
func TestBundlesOfAllHosts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "all.tar")
	a := newArchiveOfAll("bank", file)
	result, err := a.write(t.Context(), func() error {
		for i := 1; i <= 100; i++ {
			one := HostBundle{Host: fmt.Sprintf("node%03d", i), Address: fmt.Sprintf("10.0.0.%d", i)}
			var err error
			switch i {
			case 44, 45:
				err = fmt.Errorf("dial tcp %s:22: i/o timeout", one.Address)
			case 71:
				err = errors.New("airgap.rpm is not installed")
			default:
				text := "archive of " + one.Host
				require.NoError(t, a.add(&one, int64(len(text)), strings.NewReader(text)))
			}
			a.note(one, err)
		}
		return nil
	})
	require.NoError(t, err)
	files := map[string]string{}
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	for r := tar.NewReader(f); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		files[path.Base(head.Name)] = string(text)
		assert.Equal(t, a.name, path.Dir(head.Name))
	}
	assert.Len(t, files, 97+2)
	assert.Equal(t, "archive of node100", files["node100.tar.gz"])
	assert.Contains(t, files["README.txt"], "  node071               no bundle: airgap.rpm is not installed\n")
	var contents AllCollected
	require.NoError(t, json.Unmarshal([]byte(files["contents.json"]), &contents))
	assert.Equal(t, result.Hosts, contents.Hosts)
	var b strings.Builder
	require.NoError(t, result.Write(&b))
	assert.Equal(t, "no bundle of 3 hosts:\n  node[044-045] (2 hosts): dial tcp HOST:22: i/o timeout\n  node071: airgap.rpm is not installed\n"+
		file+": "+ui.Size(result.Bytes)+", the bundles of 97 of 100 hosts\nreview them before they leave the site: tar xf FILE, then tar xzf HOST.tar.gz, and open index.html\n", b.String())
}

// TestBundlesOfAllHostsFail: an archive that cannot be written is an error, and leaves no file.
func TestBundlesOfAllHostsFail(t *testing.T) {
	file := filepath.Join(t.TempDir(), "all.tar")
	a := newArchiveOfAll("bank", file)
	_, err := a.write(t.Context(), func() error {
		err := a.add(&HostBundle{Host: "node1"}, 3, strings.NewReader("more than this"))
		assert.Error(t, err)
		return nil
	})
	assert.ErrorContains(t, err, "write the archive")
	left, err := os.ReadDir(filepath.Dir(file))
	require.NoError(t, err)
	assert.Empty(t, left)
	assert.Regexp(t, `^airgap-support-bank-all-hosts-\d{8}T\d{6}Z.tar$`, newArchiveOfAll("bank", "").result.File)
}
