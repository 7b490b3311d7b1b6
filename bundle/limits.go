package bundle

import (
	"fmt"
	"math"

	"airgap.dev/airgap/bundle/image"
)

const (
	// maxFile is the largest file of a bundle in bytes. The layout needs memory in
	// proportion to sizes, so larger files are refused before.
	maxFile = image.MaxBlob
	// maxStream is the largest bundle in bytes. Its index has a hash of 32 bytes for each
	// chunk, in base64, and readers refuse an index above MaxIndex.
	maxStream = MaxIndex / 2 / 48 * ChunkSize
	// maxParts keeps SHA256SUMS, which has a line for each part, below maxSums.
	maxParts = 10_000
)

// checkSizes refuses files that are too large for a bundle, and a blob that two images list
// with different sizes.
func (l Lock) checkSizes() error {
	type stated struct {
		size int64
		by   string
	}
	seen := map[string]stated{}
	var total int64
	add := func(what, path string, size int64) error {
		if size < 0 || size > maxFile {
			return fmt.Errorf("%s: size is %d bytes, the limit for a file of a bundle is %d", what, size, int64(maxFile))
		}
		before, known := seen[path]
		if known && before.size != size {
			return fmt.Errorf("%s has %d bytes according to %s, but %d according to %s: one of them is broken; report it to the publisher, or use another version",
				path, before.size, before.by, size, what)
		}
		if !known {
			seen[path] = stated{size, what}
			total = min(total+size, math.MaxInt64-maxFile)
		}
		return nil
	}
	for _, image := range l.Images {
		for _, b := range image.Blobs {
			if err := add("image "+image.Name, BlobPath(b.Digest), b.Size); err != nil {
				return err
			}
		}
	}
	for _, p := range l.Packages {
		if err := add("package "+p.NEVRA.String(), p.Path, p.Size); err != nil {
			return err
		}
	}
	for _, f := range l.Files {
		if err := add("file "+f.Name, f.Path, f.Size); err != nil {
			return err
		}
	}
	if total > maxStream {
		return tooMuch(total)
	}
	return nil
}

func tooMuch(bytes int64) error {
	return fmt.Errorf("the files have %d bytes in total, the limit of a bundle is %d: make two bundles", bytes, int64(maxStream))
}

// checkLayout refuses sizes that would need too much memory for the layout.
func checkLayout(files []Entry, partSize int64) error {
	var total int64
	for _, f := range files {
		if f.Size < 0 || f.Size > maxFile {
			return fmt.Errorf("lay out %s: size is %d bytes, the limit for a file of a bundle is %d", f.Path, f.Size, int64(maxFile))
		}
		if total += f.Size + 4*tarBlock; total > maxStream {
			return tooMuch(total)
		}
	}
	if total/partSize >= maxParts {
		return fmt.Errorf("the files have %d bytes in total; in parts of %d bytes these are more than %d parts: choose a larger part size", total, partSize, maxParts)
	}
	return nil
}
