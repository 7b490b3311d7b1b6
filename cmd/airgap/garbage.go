package main

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	// verifyGC is Go's GOGC for verification: of a large cluster memory is what is
	// scarce, beside the API server on a control-plane host. Of 100,000 pods about 115 MB are in use
	// while the first lists come in, of which each percent is 1 MB more.
	verifyGC = 10
	// listingHeap is to how many bytes the heap may grow, where mostGC lets it, before garbage is
	// collected while the first lists come in: nearly all that is read then is garbage at once, and
	// by a GOGC of 30 alone collecting it took two fifths of the processor time that a verdict
	// about 50,000 pods took. 100,000 pods have that much anyway.
	listingHeap = 112 << 20
	// mostGC is GOGC at most then: a few thousand pods would need less memory than that, and
	// would gain a third of a second by more.
	mostGC    = 200
	tuneEvery = 20 * time.Millisecond
)

// collectForVerify has garbage collected as suits lists, and as suits what comes
// after them when listed is called, which is called any number of times. A GOGC that is set
// in the environment stays.
func collectForVerify() (listed func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	debug.SetGCPercent(verifyGC)
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for is := verifyGC; ; {
			select {
			case <-over:
				return
			case <-time.After(tuneEvery):
			}
			if want := listingGC(heapInUse()); want != is { // to set it stops all else for a moment
				is = want
				debug.SetGCPercent(is)
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(over)
		<-ended
		debug.SetGCPercent(verifyGC)
	})
}

// listingGC is the GOGC by which a heap of which so many bytes are in use grows to
// listingHeap, but between verifyGC and mostGC.
func listingGC(inUse uint64) int {
	if inUse >= listingHeap {
		return verifyGC
	}
	return min(max(verifyGC, int(100*(listingHeap-inUse)/max(inUse, 1))), mostGC)
}

// heapInUse is what the newest collection found in use, in bytes.
func heapInUse() uint64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return live[0].Value.Uint64()
}
