package bundle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io"
	"runtime"
	"sort"
	"sync"

	"golang.org/x/sync/errgroup"

	"airgap.dev/airgap/internal/ui"
)

// readBlock is the number of bytes that are hashed at a time: one chunk, so that two of
// them fit in a processor's cache.
const readBlock = ChunkSize

// castagnoli is the polynomial with processor support. The library creates the table once.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// readBack reads every part once from the disk, computes the hashes of the parts, and
// compares them with the written bytes. It detects fake and broken USB drives.
func (f *filler) readBack(ctx context.Context, parts []Part, progress ui.Progress) (err error) {
	task := progress.Task("read back", f.layout.size, true)
	defer func() { task.End(err) }()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, runtime.GOMAXPROCS(0)/2)) // each keeps two cores busy
	for i := range parts {
		group.Go(func() error { return f.readPart(ctx, i, &parts[i], task) })
	}
	return group.Wait()
}

func (f *filler) readPart(ctx context.Context, i int, part *Part, task ui.Task) error {
	start := int64(i) * f.layout.partSize
	whole := sha256.New()
	check := newPieceCheck(f, start)
	part.Chunks = nil
	err := readBlocks(ctx, f.target.File(i), part.Size, func(block []byte) error {
		var other sync.WaitGroup
		other.Go(func() { whole.Write(block) })
		defer other.Wait()
		sum := sha256.Sum256(block)
		part.Chunks = append(part.Chunks, sum[:]...)
		task.Add(int64(len(block)))
		return check.add(block)
	})
	if err != nil {
		return fmt.Errorf("read back %s: %w", part.Name, err)
	}
	part.SHA256 = hex.EncodeToString(whole.Sum(nil))
	return nil
}

// readBlocks reads size bytes in order; it reads the next block while use processes the
// previous one.
func readBlocks(ctx context.Context, r io.ReaderAt, size int64, use func([]byte) error) error {
	buffers := [2][]byte{make([]byte, min(readBlock, size)), make([]byte, min(readBlock, size))}
	read := func(n int, off int64) ([]byte, error) {
		block := buffers[n%2][:min(readBlock, size-off)]
		_, err := r.ReadAt(block, off)
		return block, err
	}
	block, err := read(0, 0)
	for n, off := 1, int64(0); err == nil; n++ {
		off += int64(len(block))
		last := off >= size
		var next []byte
		var nextErr error
		var ahead sync.WaitGroup
		if !last {
			ahead.Go(func() { next, nextErr = read(n, off) })
		}
		err = use(block)
		ahead.Wait()
		if last || err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		block, err = next, nextErr
	}
	return err
}

// pieceCheck compares the pieces of one part with the written pieces.
type pieceCheck struct {
	f    *filler
	n    int   // the current piece
	done int64 // processed bytes of it
	crc  uint32
}

func newPieceCheck(f *filler, start int64) *pieceCheck {
	n := sort.Search(len(f.layout.pieces), func(i int) bool { return f.layout.pieces[i].offset >= start })
	return &pieceCheck{f: f, n: n}
}

func (c *pieceCheck) add(block []byte) error {
	for len(block) > 0 {
		piece := c.f.layout.pieces[c.n]
		p := block[:min(int64(len(block)), piece.size-c.done)]
		block = block[len(p):]
		c.crc = crc32.Update(c.crc, castagnoli(), p)
		c.done += int64(len(p))
		if c.done < piece.size {
			continue
		}
		if c.crc != c.f.crcs[c.n] {
			return c.mismatch(piece)
		}
		c.n, c.done, c.crc = c.n+1, 0, 0
	}
	return nil
}

func (c *pieceCheck) mismatch(p piece) error {
	what := "a tar header"
	if p.entry >= 0 {
		what = c.f.layout.entries[p.entry].Path
	}
	return fmt.Errorf("bytes %d to %d (%s) differ from the written bytes: the USB drive or its adapter is faulty",
		p.offset%c.f.layout.partSize, p.offset%c.f.layout.partSize+p.size, what)
}
