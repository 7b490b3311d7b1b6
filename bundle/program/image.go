package program

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/plan"
	"airgap.dev/airgap/internal/version"
)

// ProbeRepository is the name of the image with airgap-probe. Bundles from before the
// separate program have airgap.dev/airgap, and the program in it has other arguments.
const ProbeRepository = "airgap.dev/airgap-probe"

// nobody is a user that owns no file.
const nobody = "65532:65532"

// ProbeImage is an image with only airgap-probe; the same program gives the same
// digest. It fails if the program is not static.
func ProbeImage() bundle.OwnImage {
	return bundle.OwnImage{
		Need: bundle.Need{Reference: ProbeRepository + ":" + tagOf(version.String()), NeededBy: "verify"},
		Make: func() (v1.Image, error) {
			program, err := os.Executable()
			if err != nil {
				return nil, fmt.Errorf("find this program: %w", err)
			}
			probe := helperOf(program, probeName)
			if err := checkProbe(probe); err != nil {
				return nil, err
			}
			return imageOf(probe)
		},
	}
}

// notInTag matches the characters of a version that a tag must not have.
var notInTag = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

func tagOf(version string) string { return strings.Trim(notInTag.ReplaceAllString(version, "-"), "-.") }

func imageOf(program string) (v1.Image, error) {
	// Every bundle has it: compression saves two thirds and takes a third of a second.
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return tarOf(program) },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.DefaultCompression), tarball.WithCompressedCaching)
	if err != nil {
		return nil, err
	}
	base, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		OS: "linux", Architecture: plan.Arch, RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{Entrypoint: []string{"/" + probeName}, User: nobody, WorkingDir: "/"},
	})
	if err != nil {
		return nil, err
	}
	return mutate.AppendLayers(mutate.MediaType(mutate.ConfigMediaType(base, types.OCIConfigJSON), types.OCIManifestSchema1), layer)
}

// tarOf is a tar with the program as /airgap-probe, the same on every host.
func tarOf(program string) (io.ReadCloser, error) {
	file, err := os.Open(program)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	read, write := io.Pipe()
	go func() {
		defer file.Close()
		t := tar.NewWriter(write)
		err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: probeName, Size: info.Size(), Mode: 0o755, ModTime: time.Unix(0, 0)})
		if err == nil {
			_, err = io.Copy(t, file)
		}
		write.CloseWithError(errors.Join(err, t.Close()))
	}()
	return read, nil
}
