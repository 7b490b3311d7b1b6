package bundle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"airgap.dev/airgap/internal/ui"
)

// maxDamage limits the damaged chunks that Verify lists.
const maxDamage = 10

// Verify reads all parts and reports the first damaged chunks. Package sidefiles checks
// the files next to the parts.
func (b *Bundle) Verify(ctx context.Context, progress ui.Progress) error {
	task := progress.Task("verify", b.chunks.size, true)
	err := b.verifyChunks(ctx, task)
	task.End(err)
	if err != nil {
		return fmt.Errorf("verify bundle %s: %w", b.dir, err)
	}
	return nil
}

// verifyChunks checks every chunk; each worker checks a run of neighbouring chunks at a
// time.
func (b *Bundle) verifyChunks(ctx context.Context, task ui.Task) error {
	var damage damageList
	err := b.eachRun(ctx, func(buf []byte, k int64) error {
		_, _, size := b.chunks.locate(k)
		if err := damage.note(b.chunks.verify(k, buf)); err != nil {
			return err
		}
		task.Add(size)
		return nil
	})
	return errors.Join(err, damage.err())
}

// run is the number of neighbouring chunks that one worker reads in order.
const run = 16

// eachRun calls do for every chunk, with a buffer of ChunkSize.
func (b *Bundle) eachRun(ctx context.Context, do func(buf []byte, k int64) error) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	total := chunkCount(b.chunks.size)
	for first := int64(0); first < total && groupCtx.Err() == nil; first += run {
		group.Go(func() error {
			buf := chunkMemory.Get().(*[ChunkSize]byte)
			defer chunkMemory.Put(buf)
			for k := first; k < min(first+run, total); k++ {
				if groupCtx.Err() != nil {
					return context.Cause(groupCtx)
				}
				if err := do(buf[:], k); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil || ctx.Err() == nil {
		return err
	}
	return context.Cause(ctx)
}

// damageList collects damage from several goroutines; other errors stop them.
type damageList struct {
	mu    sync.Mutex
	found []error
}

func (d *damageList) note(err error) error {
	if !errors.Is(err, ErrDamaged) {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.found = append(d.found, err)
	return nil
}

func (d *damageList) err() error {
	slices.SortFunc(d.found, compareDamage)
	if more := len(d.found) - maxDamage; more > 0 {
		return errors.Join(append(d.found[:maxDamage:maxDamage], fmt.Errorf("and %d more chunks", more))...)
	}
	return errors.Join(d.found...)
}

func compareDamage(a, b error) int {
	var x, y *DamageError
	if !errors.As(a, &x) || !errors.As(b, &y) {
		return 0
	}
	return cmp.Or(cmp.Compare(x.Part, y.Part), cmp.Compare(x.Chunk, y.Chunk))
}

// otherFiles returns the signed files next to the parts.
func (b *Bundle) otherFiles() []string {
	parts := map[string]bool{}
	for _, p := range b.index.Parts {
		parts[p.Name] = true
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(b.sums)), func(name string) bool { return parts[name] })
}
