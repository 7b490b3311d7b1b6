package program

import (
	"archive/tar"
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
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/plan"
	"airgap.dev/airgap/internal/version"
)

// ProbeRepository is the name of the image of airgap-probe. Bundles made before it was a
// program of its own have airgap.dev/airgap, whose program takes other arguments.
const ProbeRepository = "airgap.dev/airgap-probe"

// nobody is a user that no file belongs to.
const nobody = "65532:65532"

// ProbeImage is an image that has airgap-probe and nothing else: the same program gives the same
// digest. Making it is an error where the program is not static.
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

// notInTag is what a version may have and an image's tag may not.
var notInTag = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

func tagOf(version string) string { return strings.Trim(notInTag.ReplaceAllString(version, "-"), "-.") }

func imageOf(program string) (v1.Image, error) {
	layer, err := newTarLayer(program)
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

// tarLayer is a layer as it is: to compress the program takes longer than to carry
// it, and slow nodes have it unpacked sooner.
type tarLayer struct {
	program string
	digest  v1.Hash
	size    int64
}

func newTarLayer(program string) (v1.Layer, error) {
	content, err := tarOf(program)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	l := &tarLayer{program: program}
	if l.digest, l.size, err = v1.SHA256(content); err != nil {
		return nil, err
	}
	return partial.CompressedToLayer(l)
}

func (l *tarLayer) Digest() (v1.Hash, error) { return l.digest, nil }

func (l *tarLayer) Size() (int64, error) { return l.size, nil }

func (l *tarLayer) MediaType() (types.MediaType, error) { return types.OCIUncompressedLayer, nil }

func (l *tarLayer) Compressed() (io.ReadCloser, error) { return tarOf(l.program) }

// tarOf is a tar with the program as /airgap-probe, without anything that differs
// from host to host.
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
