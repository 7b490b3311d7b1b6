package main

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	// verifyGC is GOGC for airgap verify. It is low because memory is scarce next to the API
	// server on a control-plane host: with 100,000 pods about 115 MB are in use during the
	// first lists, so each percent costs about 1 MB.
	verifyGC = 10
	// listingHeap is the target size of the heap in bytes during the first lists, limited by
	// mostGC. Nearly all data of a list is garbage immediately: with GOGC=30, collection took
	// two fifths of the CPU time for 50,000 pods. 100,000 pods require this heap anyway.
	listingHeap = 112 << 20
	// mostGC is the maximum of GOGC during the first lists. It lets the heap of a small cluster
	// grow to a few tens of MB, so that nearly no collection delays the first result.
	mostGC    = 800
	tuneEvery = 20 * time.Millisecond
)

// tuneGCForVerify tunes the garbage collector for the first lists until listed is called, then
// sets verifyGC. listed can be called several times. GOGC in the environment has priority.
func tuneGCForVerify() (listed func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	first := listingGC(heapInUse())
	debug.SetGCPercent(first)
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for is := first; ; {
			select {
			case <-stop:
				return
			case <-time.After(tuneEvery):
			}
			if want := listingGC(heapInUse()); want != is { // setting it stops the world for a moment
				is = want
				debug.SetGCPercent(is)
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(stop)
		<-ended
		debug.SetGCPercent(verifyGC)
	})
}

// listingGC returns the GOGC that lets a heap with inUse bytes grow to listingHeap, between
// verifyGC and mostGC.
func listingGC(inUse uint64) int {
	if inUse >= listingHeap {
		return verifyGC
	}
	return min(max(verifyGC, int(100*(listingHeap-inUse)/max(inUse, 1))), mostGC)
}

// heapInUse returns the live heap in bytes after the last collection.
func heapInUse() uint64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return live[0].Value.Uint64()
}
