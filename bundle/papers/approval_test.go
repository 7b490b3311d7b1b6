package papers_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/papers"
	"airgap.dev/airgap/internal/nevra"
)

func lock() bundle.Lock {
	sum := strings.Repeat("a", 64)
	return bundle.Lock{
		Images: []bundle.Image{
			{Name: "nvcr.io/nvidia/app:1", Digest: "sha256:" + sum, License: "NVIDIA", Blobs: []bundle.Blob{{Digest: "sha256:" + sum, Size: 3}}},
			{Name: "nvcr.io/nvidia/other:1", Digest: "sha256:" + sum, Blobs: []bundle.Blob{{Digest: "sha256:" + sum, Size: 3}}},
		},
		Packages: []bundle.Package{
			{NEVRA: nevra.MustParse("a-0:1-1.x86_64"), URL: "https://dl.example:8443/a.rpm", Path: "rpm/el9/Packages/a.rpm", Size: 5, SHA256: strings.Repeat("b", 64), License: "MIT"},
			{NEVRA: nevra.MustParse("b-0:1-1.x86_64"), URL: "https://dl.example:8443/b.rpm", Path: "rpm/el9/Packages/b.rpm", Size: 5, SHA256: strings.Repeat("c", 64), License: "MIT"},
		},
		Files: []bundle.File{{Name: "runc", URL: "https://github.com/opencontainers/runc", Path: "files/runc", Size: 7, SHA256: strings.Repeat("d", 64)}},
		Addons: []bundle.Addon{{Name: "own", Path: "manifests/own.yaml", SHA256: strings.Repeat("e", 64), Chart: &bundle.Chart{
			Name: "own", Version: "1.0.0", Path: "charts/own-1.0.0.tgz", SHA256: strings.Repeat("f", 64), License: "Apache-2.0",
		}}},
	}
}

// TestHashes: the list has each file of the lock once, in the form of sha256sum.
func TestHashes(t *testing.T) {
	var text strings.Builder
	require.NoError(t, papers.WriteHashes(&text, papers.Hashes(lock())))
	var want []string
	for letter, path := range map[string]string{
		"a": "oci/blobs/sha256/" + strings.Repeat("a", 64), "b": "rpm/el9/Packages/a.rpm", "c": "rpm/el9/Packages/b.rpm",
		"d": "files/runc", "e": "manifests/own.yaml", "f": "charts/own-1.0.0.tgz",
	} {
		want = append(want, strings.Repeat(letter, 64)+"  "+path)
	}
	assert.ElementsMatch(t, want, strings.Split(strings.TrimSpace(text.String()), "\n"))
}

// TestOrigins: the report shows the known licences, and the hosts with unknown terms.
func TestOrigins(t *testing.T) {
	assert.Equal(t, []papers.Origin{
		{Host: "dl.example:8443", Items: 2, Licences: []string{"MIT"}},
		{Host: "github.com", Terms: "https://docs.github.com/en/site-policy/github-terms/github-terms-of-service", Items: 1, Unstated: 1},
		{Host: "nvcr.io", Terms: "https://ngc.nvidia.com/legal/terms", Items: 2, Licences: []string{"NVIDIA"}, Unstated: 1},
		{Host: "the connected host", Items: 1, Licences: []string{"Apache-2.0"}},
	}, papers.Origins(lock()))
	page, err := papers.Report(&bundle.Plan{Name: "bank", Lock: lock()}, "SHA256:key")
	require.NoError(t, err)
	for _, part := range []string{"Origins, licences and terms", "https://ngc.nvidia.com/legal/terms", "<td>NVIDIA</td>", "not known to airgap"} {
		assert.Contains(t, string(page), part)
	}
}
