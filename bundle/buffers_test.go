package bundle

import (
	"testing"
	"testing/synctest"
)

// TestFewChunksInMemory: with any number of readers, only mostFirstReads chunks are in
// memory, and all readers finish.
func TestFewChunksInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limited{make(chan struct{}, mostFirstReads)}
		holding, release := make(chan struct{}, 4*mostFirstReads), make(chan struct{})
		for range 4 * mostFirstReads {
			go func() {
				buf := l.get()
				holding <- struct{}{}
				<-release
				l.put(buf)
			}()
		}
		synctest.Wait()
		if got := len(holding); got != mostFirstReads {
			t.Errorf("%d readers hold a chunk, want %d", got, mostFirstReads)
		}
		close(release)
		synctest.Wait()
		if got := len(holding); got != 4*mostFirstReads {
			t.Errorf("%d readers finished, want %d", got, 4*mostFirstReads)
		}
	})
}
