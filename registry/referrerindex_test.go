package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
)

// TestPushesDoNotWaitForTheFirstListOfReferrers: the first request for a list reads all manifests of the repository. The
// pushes and deletions of the meantime do not wait, and are in the list.
func TestPushesDoNotWaitForTheFirstListOfReferrers(t *testing.T) {
	l := newReferrers(storage{}, discard())
	to := digest.FromString("image")
	manifest := func(text string) []byte {
		return fmt.Appendf(nil, `{"schemaVersion": 2, "artifactType": %q, "subject": {"mediaType": "x/y", "digest": %q, "size": 5}}`, text, to)
	}
	before, during, gone := digest.FromString("before"), digest.FromString("during"), digest.FromString("gone")
	reads, started, release := atomic.Int64{}, make(chan struct{}), make(chan struct{})
	read := func() (*referrerIndex, error) {
		reads.Add(1)
		close(started)
		<-release
		index := newReferrerIndex()
		index.add(to, referrer{before, "a"})
		index.add(to, referrer{gone, "b"})
		return index, t.Context().Err()
	}
	lists := make(chan []referrer, 2)
	for range 2 {
		go func() {
			list, err := l.index("team/app").find(context.Background(), to, read)
			if err != nil {
				t.Error(err)
			}
			lists <- list
		}()
	}
	<-started
	changed := make(chan struct{})
	go func() {
		l.added("team/app", during, manifest("c"))
		l.removed("team/app", gone)
		close(changed)
	}()
	select {
	case <-changed:
	case <-time.After(time.Minute):
		t.Error("a push waits for the list of referrers")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.index("team/app").find(ctx, to, read); !errors.Is(err, context.Canceled) {
		t.Errorf("a client that left: %v", err)
	}
	close(release)
	want := []referrer{{before, "a"}, {during, "c"}}
	slices.SortFunc(want, func(a, b referrer) int { return a.compare(b.digest) })
	for range 2 {
		if list := <-lists; !slices.Equal(list, want) {
			t.Errorf("%v, want %v", list, want)
		}
	}
	if reads.Load() != 1 {
		t.Errorf("%d reads of the repository", reads.Load())
	}
}
