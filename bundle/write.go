package bundle

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"time"

	"airgap.dev/airgap/internal/ui"
)

// Sizes of a part in bytes.
const (
	MinPartSize     = 64 << 20   // file-transfer gateways may require small parts
	DefaultPartSize = 4095 << 20 // just below the limit of FAT32
)

// Options of Write.
type Options struct {
	PartSize int64         // bytes, a multiple of ChunkSize; 0 is DefaultPartSize
	Workers  int           // concurrent downloads; 0 is 4
	Signer   crypto.Signer // signs SHA256SUMS: ECDSA, P-256 or P-384
	Stick    []StickFile   // the program, its RPM, INSTALL.txt; Write adds the keys

	free func(dir string) (space, error) // nil: ask the file system
}

func (o Options) withDefaults() (Options, error) {
	if o.PartSize == 0 {
		o.PartSize = DefaultPartSize
	}
	if o.Workers == 0 {
		o.Workers = 4
	}
	if o.free == nil {
		o.free = freeSpace
	}
	if o.PartSize < 0 || o.PartSize%ChunkSize != 0 {
		return o, fmt.Errorf("part size %d is not a multiple of %d bytes (1 MiB)", o.PartSize, ChunkSize)
	}
	if o.Signer == nil || PublicOf(o.Signer) == nil {
		return o, errors.New("no signing key")
	}
	return o, nil
}

// Report has the results of Write.
type Report struct {
	Complete bool          // the bundle was already complete; nothing was written
	Size     int64         // size of all parts, bytes
	Parts    int           // number of parts
	Fetched  int64         // bytes fetched now
	Kept     int64         // correct bytes from an earlier run
	Reused   int64         // bytes from earlier bundles
	Fill     time.Duration // fetching and writing
	Sync     time.Duration // waiting for the disk
	ReadBack time.Duration // reading everything again, and hashing
}

// Write makes the bundle in dir: it fills the parts, reads them back from the disk, and
// signs. Until everything is verified, dir has a mark, and Open refuses it. An
// interrupted or killed run continues if it is run again with the same lock. A complete
// bundle is not changed.
func Write(ctx context.Context, p *Plan, dir string, o Options, progress ui.Progress) (*Report, error) {
	report, err := write(ctx, p, dir, o, progress)
	if err != nil {
		return nil, fmt.Errorf("write bundle %s: %w", dir, err)
	}
	return report, nil
}

func write(ctx context.Context, p *Plan, dir string, o Options, progress ui.Progress) (*Report, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	files, small, err := p.contents()
	if err != nil {
		return nil, err
	}
	l, err := layOut(files, o.PartSize)
	if err != nil {
		return nil, err
	}
	draft := p.draft(l)
	stick, err := p.stick(o)
	if err != nil {
		return nil, err
	}
	report := &Report{Size: l.size, Parts: len(draft.Parts)}
	work, err := enter(dir, draft, stick, o)
	if err != nil {
		return nil, err
	}
	if work == nil {
		report.Complete, report.Kept = true, l.size
		return report, nil
	}
	defer work.leave()
	work.warn(progress)
	f := &filler{plan: p, layout: l, small: small, resumed: work.resumed, report: report}
	if err := f.run(ctx, work, o, progress); err != nil {
		return nil, err
	}
	return report, work.finish(draft, stick, o.Signer)
}

// PartCount is the number of parts of this size that Write makes.
func (p *Plan) PartCount(partSize int64) (int, error) {
	files, _, err := p.contents()
	if err != nil {
		return 0, err
	}
	l, err := layOut(files, partSize)
	if err != nil {
		return 0, err
	}
	return len(l.parts()), nil
}

// draft is the index with the fields that are known before anything is fetched.
func (p *Plan) draft(l *layout) *Index {
	return &Index{
		FormatVersion: p.version(), Name: p.Name, Created: p.Created, Tool: p.Tool,
		Config: p.Config, Lock: p.Lock, Parts: l.parts(), Files: l.entries,
		Base: p.Base,
	}
}
