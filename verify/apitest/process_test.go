package apitest

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// TestProcessOutlivesItsThread: the kernel kills a program when the thread ends that started it.
func TestProcessOutlivesItsThread(t *testing.T) {
	log, started := filepath.Join(t.TempDir(), "log"), make(chan *process)
	onEndingThread(func() {
		started <- start(t, log, "sleep", "60")
	})
	p := <-started
	select {
	case <-p.exited:
		t.Error("the program ended with the thread that started it")
	case <-time.After(300 * time.Millisecond):
		p.end()
	}
}

// onEndingThread runs work on a thread that ends after it. The first thread of a program cannot end.
func onEndingThread(work func()) {
	go func() {
		runtime.LockOSThread() // never unlocked on the thread of work
		if syscall.Gettid() == os.Getpid() {
			defer runtime.UnlockOSThread()
			onEndingThread(work)
			time.Sleep(time.Second) // keeps this thread in use
			return
		}
		work()
	}()
}
