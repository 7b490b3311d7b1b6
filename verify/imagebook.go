package verify

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// ImageExists reports whether our registry has an image by its digest
// ("sha256:…"). repository is HOST/PATH, as upstream wrote it. An error says
// that it could not be told.
type ImageExists func(ctx context.Context, repository, digest string) (bool, error)

// state is what is known about an image.
type state int

const (
	unknown state = iota
	found
	missing
)

type answer struct {
	state state
	err   error // of an unknown one: why it could not be told, or nil before the first answer
}

// imageBook remembers the registry's answers, so that rules may ask for them
// without waiting. What was found is asked for again each minute, since a
// verification may last for days; everything else slower and slower.
type imageBook struct {
	exists   ImageExists
	answered func() // called after every new answer
	queue    workqueue.TypedRateLimitingInterface[image]

	mu      sync.Mutex
	answers map[image]answer
	wanted  map[image]time.Time // when a rule last looked
}

const (
	lookups     = 4 // at a time
	lookupLimit = 10 * time.Second
	foundFor    = time.Minute
	// An answer has the rule look at each image that runs: once a minute at least. What it
	// has not looked at for so long no pod runs.
	wantedFor = 10 * time.Minute
)

func newImageBook(exists ImageExists, answered func()) *imageBook {
	slower := workqueue.NewTypedItemExponentialFailureRateLimiter[image](500*time.Millisecond, 10*time.Second)
	return &imageBook{
		exists: exists, answered: answered, answers: map[image]answer{}, wanted: map[image]time.Time{},
		queue: workqueue.NewTypedRateLimitingQueue(slower),
	}
}

// look gives what is known now, and has the registry asked about what is not.
func (b *imageBook) look(img image) answer {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wanted[img] = time.Now()
	a, asked := b.answers[img]
	if !asked {
		b.answers[img] = answer{}
		b.queue.Add(img)
	}
	return a
}

// run asks the registry until ctx ends.
func (b *imageBook) run(ctx context.Context) {
	var workers sync.WaitGroup
	for range lookups {
		workers.Go(func() {
			for b.askNext(ctx) {
			}
		})
	}
	<-ctx.Done()
	b.queue.ShutDown()
	workers.Wait()
}

func (b *imageBook) askNext(ctx context.Context) bool {
	img, shutdown := b.queue.Get()
	if shutdown {
		return false
	}
	defer b.queue.Done(img)
	if b.forget(img, time.Now()) {
		return true
	}
	a := b.ask(ctx, img)
	if a.state == found {
		b.queue.Forget(img)
		b.queue.AddAfter(img, foundFor)
	} else {
		b.queue.AddRateLimited(img)
	}
	b.mu.Lock()
	b.answers[img] = a
	b.mu.Unlock()
	b.answered()
	return true
}

// forget drops an image that no pod runs.
func (b *imageBook) forget(img image, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Sub(b.wanted[img]) < wantedFor {
		return false
	}
	delete(b.wanted, img)
	delete(b.answers, img)
	b.queue.Forget(img)
	return true
}

func (b *imageBook) ask(ctx context.Context, img image) answer {
	ctx, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	has, err := b.exists(ctx, img.repository, img.digest)
	switch {
	case err != nil:
		return answer{unknown, err}
	case has:
		return answer{found, nil}
	default:
		return answer{missing, nil}
	}
}
