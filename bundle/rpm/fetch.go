package rpm

import (
	"bytes"
	"compress/bzip2"
	"context"
	"crypto/sha1" //nolint:gosec // old repositories have no other checksums
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"airgap.dev/airgap/bundle/rpm/unxz"
	"airgap.dev/airgap/internal/advice"
)

// Limits of one metadata file, compressed and open. Fedora's largest has a tenth
// of it.
const (
	maxCompressed = 256 << 20
	maxOpen       = 4 << 30
	maxModules    = 256 << 20
)

// errTooLarge reports that data exceeds a limit.
var errTooLarge = errors.New("it is larger than allowed")

// wrongError is content that cannot be used, such as a damaged copy in a cache. Another request may get the right one.
type wrongError struct{ error }

func (e *wrongError) Unwrap() error { return e.error }

func isWrong(err error) bool {
	_, is := errors.AsType[*wrongError](err)
	return is
}

// fetchAll reads at most limit bytes of url.
func fetchAll(ctx context.Context, f Fetcher, url string, limit int64) ([]byte, error) {
	body, size, err := f.Open(ctx, url, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	if size > limit {
		return nil, fmt.Errorf("fetch %s: %w (%d bytes, the limit is %d)", url, errTooLarge, size, limit)
	}
	data, err := io.ReadAll(io.LimitReader(body, limit+1))
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", url, err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("fetch %s: %w (the limit is %d bytes)", url, errTooLarge, limit)
	}
	return data, nil
}

// checksum is a digest in repository metadata.
type checksum struct {
	Type string `xml:"type,attr"`
	Hex  string `xml:",chardata"`
	sha1 bool   // SHA-1 is allowed
}

func (c checksum) new() (hash.Hash, error) {
	switch c.kind() {
	case "":
		return nil, errors.New("it has no checksum")
	case "sha224":
		return sha256.New224(), nil
	case "sha256":
		return sha256.New(), nil
	case "sha384":
		return sha512.New384(), nil
	case "sha512":
		return sha512.New(), nil
	case "sha1":
		if c.sha1 {
			return sha1.New(), nil //nolint:gosec // airgap.yaml allows it for the repository
		}
		return nil, advice.Add(errors.New("its checksum is SHA-1, which is not trusted"), sha1Advice)
	}
	return nil, fmt.Errorf("its checksum of type %.20q is not trusted", c.Type)
}

const sha1Advice = "ask the operator of the repository for SHA-256 (createrepo_c --checksum sha256); " +
	"or set checksums: sha1 for it in packages.repositories: airgap still checks the vendor's signature of each package"

// kind returns the type as in librepo, which does not distinguish cases. "sha" is the name of createrepo for SHA-1.
func (c checksum) kind() string {
	if kind := strings.ToLower(strings.TrimSpace(c.Type)); kind != "sha" {
		return kind
	}
	return "sha1"
}

// file returns the name of a file with this checksum in the cache.
func (c checksum) file() string {
	return c.kind() + "-" + strings.ToLower(strings.TrimSpace(c.Hex))
}

func (c checksum) check(data []byte) error {
	h, err := c.new()
	if err != nil {
		return err
	}
	h.Write(data)
	if got := hex.EncodeToString(h.Sum(nil)); !strings.EqualFold(got, strings.TrimSpace(c.Hex)) {
		return fmt.Errorf("its %s is %s, expected %s", c.Type, got, strings.TrimSpace(c.Hex))
	}
	return nil
}

// decompress selects the compression by the first bytes: names have wrong extensions, and a server or a proxy can have
// expanded a file. The reader fails after limit bytes, and when the context ends.
func decompress(ctx context.Context, name string, data []byte, limit int64) (io.Reader, error) {
	r, err := decompressor(data, untilDone{ctx, bytes.NewReader(data)})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	return untilDone{ctx, &boundedReader{r, limit}}, nil
}

func decompressor(data []byte, r io.Reader) (io.Reader, error) {
	starts := func(with string) bool { return bytes.HasPrefix(data, []byte(with)) }
	switch {
	case starts("\x1f\x8b"):
		return gzip.NewReader(r)
	case starts("\xfd7zXZ\x00"):
		return unxz.NewReader(r)
	case starts("BZh"):
		return bzip2.NewReader(r), nil
	case starts("\x28\xb5\x2f\xfd"):
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
		if err != nil {
			return nil, err
		}
		return d, nil
	case starts("\x00ZCK1"):
		return nil, notXML("it is compressed with zchunk")
	case starts("SQLite format 3\x00"):
		return nil, notXML("it is a database of SQLite")
	}
	return r, nil
}

// notXML is an error about metadata in a format that airgap does not read.
func notXML(found string) error {
	return advice.Add(fmt.Errorf("%s, and airgap reads XML, plain or compressed with gzip, xz, zstd or bzip2", found),
		"ask the operator of the repository to create the metadata with createrepo_c, which writes XML; or use another mirror")
}

// untilDone fails when the context ends, also in the middle of a file without any package.
type untilDone struct {
	ctx context.Context
	r   io.Reader
}

func (u untilDone) Read(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.r.Read(p[:min(len(p), 1<<20)])
}

// boundedReader fails at the limit, where io.LimitReader returns io.EOF.
type boundedReader struct {
	r    io.Reader
	left int64
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errTooLarge
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.r.Read(p)
	b.left -= int64(n)
	if b.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}
