package bundle

import (
	"sync"
	"testing"
	"testing/synctest"
)

// TestFewChunksInMemory: however many read at a time, only mostBuffers chunks are in memory,
// and all of the readers get their turn.
func TestFewChunksInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lender{lent: make(chan struct{}, mostBuffers), pool: sync.Pool{New: func() any { return new([ChunkSize]byte) }}}
		holding, release := make(chan struct{}, 4*mostBuffers), make(chan struct{})
		for range 4 * mostBuffers {
			go func() {
				buf := l.get()
				holding <- struct{}{}
				<-release
				l.put(buf)
			}()
		}
		synctest.Wait()
		if got := len(holding); got != mostBuffers {
			t.Errorf("%d readers hold a chunk, want %d", got, mostBuffers)
		}
		close(release)
		synctest.Wait()
		if got := len(holding); got != 4*mostBuffers {
			t.Errorf("%d readers had their turn, want all %d", got, 4*mostBuffers)
		}
	})
}
