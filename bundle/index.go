package bundle

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
)

// tarBlock is the unit in bytes that headers and files in a tar are rounded up to.
const tarBlock = 512

// parseIndex reads bundle.json. It refuses an index that would make a reader leave the
// parts or the directory, or that contradicts itself, even with a trusted signature.
func parseIndex(data []byte) (*Index, error) {
	var version struct {
		FormatVersion int `json:"formatVersion"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, fmt.Errorf("read %s: %w", IndexName, err)
	}
	if version.FormatVersion != FormatVersion && version.FormatVersion != DeltaVersion {
		return nil, fmt.Errorf("read %s: format version is %d, this airgap reads %d and %d: use the airgap program in the directory of the bundle", IndexName, version.FormatVersion, FormatVersion, DeltaVersion)
	}
	index := &Index{}
	if err := json.Unmarshal(data, index); err != nil {
		return nil, fmt.Errorf("read %s: %w", IndexName, err)
	}
	if err := index.validate(); err != nil {
		return nil, fmt.Errorf("read %s: %w", IndexName, err)
	}
	return index, nil
}

func (x *Index) validate() error {
	if !isPlainName(x.Name) {
		return fmt.Errorf("name %q: want letters, digits, dots, dashes", x.Name)
	}
	if x.IsDelta() != (x.FormatVersion == DeltaVersion) {
		return fmt.Errorf("format version %d: only %d, a delta, has a base", x.FormatVersion, DeltaVersion)
	}
	total, err := validateParts(x.Parts)
	if err != nil {
		return err
	}
	if err := validateFiles(x.Files, total); err != nil {
		return err
	}
	if err := x.Base.validate(x.Files); err != nil {
		return err
	}
	return x.Lock.validate(x.held())
}

// validateParts returns the length of the tar stream.
func validateParts(parts []Part) (int64, error) {
	if len(parts) == 0 {
		return 0, errors.New("no parts")
	}
	var total int64
	for i, p := range parts {
		if want := partName(i, len(parts)); p.Name != want {
			return 0, fmt.Errorf("part %d has name %q, want %q", i, p.Name, want)
		}
		if p.Size <= 0 || p.Size > math.MaxInt64-total {
			return 0, fmt.Errorf("%s: size %d", p.Name, p.Size)
		}
		if i < len(parts)-1 && p.Size%ChunkSize != 0 {
			return 0, fmt.Errorf("%s: size %d is not a multiple of %d", p.Name, p.Size, ChunkSize)
		}
		if !isSHA256(p.SHA256) || int64(len(p.Chunks)) != chunkCount(p.Size)*sha256.Size {
			return 0, fmt.Errorf("%s: hashes are incomplete", p.Name)
		}
		total += p.Size
	}
	return total, nil
}

func chunkCount(size int64) int64 { return (size-1)/ChunkSize + 1 }

// validateFiles requires tar order, no overlap, and paths inside the bundle.
func validateFiles(files []Entry, total int64) error {
	var end int64
	taken := make(map[string]bool, len(files))
	for _, f := range files {
		if !isInside(f.Path) {
			return fmt.Errorf("path %q is not allowed", f.Path)
		}
		if taken[f.Path] {
			return fmt.Errorf("duplicate path %q", f.Path)
		}
		taken[f.Path] = true
		if f.Offset%tarBlock != 0 || f.Offset < end || f.Offset-end < tarBlock {
			return fmt.Errorf("%s: offset %d is before the end of the previous file at %d", f.Path, f.Offset, end)
		}
		if f.Size < 0 || f.Size > total-f.Offset {
			return fmt.Errorf("%s: size %d at offset %d goes beyond the parts (%d)", f.Path, f.Size, f.Offset, total)
		}
		if !isSHA256(f.SHA256) {
			return fmt.Errorf("%s: %q is not a SHA-256", f.Path, f.SHA256)
		}
		end = f.Offset + f.Size
	}
	return validateParents(taken)
}

// validateParents refuses a path that is both a file and a directory.
func validateParents(taken map[string]bool) error {
	for _, file := range slices.Sorted(maps.Keys(taken)) {
		for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
			if taken[dir] {
				return fmt.Errorf("path %q is a file and a directory", dir)
			}
		}
	}
	return nil
}

// validate requires that every locked item is among the files, with the same size and hash.
func (l *Lock) validate(files []Held) error {
	have := make(map[Held]bool, len(files))
	for _, f := range files {
		have[f] = true
	}
	holds := func(what, path string, size int64, sum string) error {
		if !have[Held{Path: path, Size: size, SHA256: sum}] {
			return fmt.Errorf("lock: %s: %s is not in the bundle as locked", what, path)
		}
		return nil
	}
	names := map[string]bool{}
	for _, image := range l.Images {
		if names[image.Name] {
			return fmt.Errorf("lock: duplicate image %s", image.Name)
		}
		names[image.Name] = true
		if len(image.Blobs) == 0 || image.Blobs[0].Digest != image.Digest {
			return fmt.Errorf("lock: image %s: its first blob is not %s", image.Name, image.Digest)
		}
		for _, b := range image.Blobs {
			if err := holds(image.Name, BlobPath(b.Digest), b.Size, strings.TrimPrefix(b.Digest, "sha256:")); err != nil {
				return err
			}
		}
	}
	for _, p := range l.Packages {
		if err := holds(p.NEVRA.String(), p.Path, p.Size, p.SHA256); err != nil {
			return err
		}
	}
	for _, f := range l.Files {
		if err := holds(f.Name, f.Path, f.Size, f.SHA256); err != nil {
			return err
		}
	}
	return l.validateAddons(holds)
}

func (l *Lock) validateAddons(holds func(what, path string, size int64, sum string) error) error {
	names := map[string]bool{}
	for _, a := range l.Applied() {
		if names[a.Name] {
			return fmt.Errorf("lock: duplicate %s", l.called(a))
		}
		names[a.Name] = true
		if err := holds(l.called(a), a.Path, a.Size, a.SHA256); err != nil {
			return err
		}
		if a.Chart == nil {
			continue
		}
		if err := holds("chart "+a.Chart.Name, a.Chart.Path, a.Chart.Size, a.Chart.SHA256); err != nil {
			return err
		}
	}
	return nil
}

// BlobPath is the path of the blob with this digest ("sha256:…") in a bundle.
func BlobPath(digest string) string {
	return "oci/blobs/sha256/" + strings.TrimPrefix(digest, "sha256:")
}

// partName is the file name of part i of n.
func partName(i, n int) string {
	return fmt.Sprintf("bundle.tar.%0*d", max(3, len(fmt.Sprint(n-1))), i)
}
