package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

// TestListingGC: the heap can grow to listingHeap, a small heap to nine times its size, a large heap
// by verifyGC.
func TestListingGC(t *testing.T) {
	for inUse, want := range map[uint64]int{
		0:         mostGC,
		12 << 20:  mostGC,
		28 << 20:  300,
		42 << 20:  166,
		56 << 20:  100,
		94 << 20:  19,
		104 << 20: verifyGC, // 8 MiB are less than verifyGC allows
		112 << 20: verifyGC,
		1 << 40:   verifyGC,
	} {
		if got := listingGC(inUse); got != want {
			t.Errorf("with %d MiB in use: %d, want %d", inUse>>20, got, want)
		}
	}
}

// TestTuneGCForVerify: GOGC is high during the first lists, and verifyGC afterwards. GOGC in the
// environment has priority.
func TestTuneGCForVerify(t *testing.T) {
	was := debug.SetGCPercent(100)
	defer debug.SetGCPercent(was)
	t.Setenv("GOGC", "100")
	tuneGCForVerify()()
	if is := gogc(); is != 100 {
		t.Errorf("with GOGC=100: %d", is)
	}
	if err := os.Unsetenv("GOGC"); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	listed := tuneGCForVerify()
	defer listed()
	for began := time.Now(); gogc() <= verifyGC; time.Sleep(time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			t.Fatalf("GOGC stays at %d, with %d MiB in use", gogc(), heapInUse()>>20)
		}
	}
	for range 2 {
		if listed(); gogc() != verifyGC {
			t.Errorf("after the lists: %d", gogc())
		}
	}
}

func gogc() int {
	is := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(is)
	return int(is[0].Value.Uint64())
}
