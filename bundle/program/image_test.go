package program

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"airgap.dev/airgap/bundle/plan"
)

// TestProgramImage: the image has one file, which every user may execute and no user
// may write. The digest does not depend on the location of the program.
func TestProgramImage(t *testing.T) {
	here, there := filepath.Join(t.TempDir(), "airgap"), filepath.Join(t.TempDir(), "copy")
	program := bytes.Repeat([]byte("the program"), 1000)
	if err := os.WriteFile(here, program, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(there, program, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(there, time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	image, err := imageOf(here)
	if err != nil {
		t.Fatal(err)
	}
	copied, err := imageOf(there)
	if err != nil {
		t.Fatal(err)
	}
	a, errA := image.Digest()
	b, errB := copied.Digest()
	if errA != nil || errB != nil || a != b {
		t.Errorf("digests %s (%v) and %s (%v)", a, errA, b, errB)
	}
	if manifest, err := image.Manifest(); err != nil || len(manifest.Layers) != 1 || manifest.Layers[0].MediaType != types.OCILayer || manifest.Layers[0].Size > int64(len(program))/2 {
		t.Errorf("manifest %+v (%v), want one layer, compressed", manifest, err)
	}
	files := tar.NewReader(mutate.Extract(image))
	h, err := files.Next()
	if err != nil || h.Name != probeName || h.Mode != 0o755 || h.Uid != 0 {
		t.Fatalf("header %+v (%v)", h, err)
	}
	if got, err := io.ReadAll(files); err != nil || !bytes.Equal(got, program) {
		t.Errorf("the program has %d bytes (%v), want %d", len(got), err, len(program))
	}
	if _, err := files.Next(); err != io.EOF {
		t.Errorf("want the end of the tar, got %v", err)
	}
	if config, err := image.ConfigFile(); err != nil || config.Config.User != nobody || config.OS != "linux" || config.Architecture != plan.Arch {
		t.Errorf("configuration %+v (%v)", config, err)
	}
}

func TestTag(t *testing.T) {
	valid := regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
	for version, want := range map[string]string{
		"v0.3.1": "v0.3.1", "(devel)": "devel", "3f8c0f9-dirty": "3f8c0f9-dirty", "v0.0.0-20261122+dirty": "v0.0.0-20261122-dirty",
	} {
		if got := tagOf(version); got != want || !valid.MatchString(got) {
			t.Errorf("%s: %s, want %s", version, got, want)
		}
	}
}
