// Package imagecache caches a registry's answers about images, so that a rule can read them without
// waiting.
package imagecache

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"airgap.dev/airgap/internal/reference"
)

// Image is the image of a container: its repository and its digest there.
type Image struct {
	Repository string // "registry.k8s.io/kube-proxy"
	Digest     string // "sha256:…"
}

func (i Image) String() string { return i.Repository + "@" + i.Digest }

// Parse parses the imageID of a container's status. An image that was loaded from a file has no
// repository; Parse returns an error.
func Parse(id string) (Image, error) {
	ref, err := reference.Parse(strings.TrimPrefix(id, "docker-pullable://"))
	if err != nil || ref.Digest == "" {
		return Image{}, fmt.Errorf("the runtime has it only as %s, without the name of a registry", id)
	}
	return Image{ref.Repository(), ref.Digest}, nil
}

// Exists reports whether airgap's registry has an image with a digest ("sha256:…"). repository is
// HOST/PATH of upstream. An error means that the registry did not answer.
type Exists func(ctx context.Context, repository, digest string) (bool, error)

// State is whether the registry has an image.
type State int

// The states of an image.
const (
	Unknown State = iota
	Found
	Missing
)

// Answer is the last answer of the registry about an image.
type Answer struct {
	State State
	Err   error // for Unknown: why there is no answer; nil before the first request
}

// Cache has the registry's answers. It checks a found image again each minute, because a run may last
// for days. It checks a missing or unknown image with increasing pauses.
type Cache struct {
	exists   Exists
	answered func() // called after every new answer
	queue    workqueue.TypedRateLimitingInterface[Image]

	mu      sync.Mutex
	answers map[Image]Answer
	used    map[Image]time.Time // time of the last Look
}

const (
	lookups     = 4 // at the same time
	lookupLimit = 10 * time.Second
	foundFor    = time.Minute
	// Each answer starts the rule, which calls Look for each running image, at least once a minute. So
	// no pod runs an image without a Look for this time.
	usedFor = 10 * time.Minute
)

// New returns a book that calls exists, and answered after each new answer.
func New(exists Exists, answered func()) *Cache {
	slower := workqueue.NewTypedItemExponentialFailureRateLimiter[Image](500*time.Millisecond, 10*time.Second)
	return &Cache{
		exists: exists, answered: answered, answers: map[Image]Answer{}, used: map[Image]time.Time{},
		queue: workqueue.NewTypedRateLimitingQueue(slower),
	}
}

// Look returns the last answer. It looks up a new image in the background.
func (b *Cache) Look(img Image) Answer {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used[img] = time.Now()
	a, asked := b.answers[img]
	if !asked {
		b.answers[img] = Answer{}
		b.queue.Add(img)
	}
	return a
}

// Close releases a book for which Run was not called.
func (b *Cache) Close() { b.queue.ShutDown() }

// Run sends the lookups to the registry until ctx ends.
func (b *Cache) Run(ctx context.Context) {
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

func (b *Cache) askNext(ctx context.Context) bool {
	img, shutdown := b.queue.Get()
	if shutdown {
		return false
	}
	defer b.queue.Done(img)
	if b.forget(img, time.Now()) {
		return true
	}
	a := b.ask(ctx, img)
	if a.State == Found {
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
func (b *Cache) forget(img Image, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Sub(b.used[img]) < usedFor {
		return false
	}
	delete(b.used, img)
	delete(b.answers, img)
	b.queue.Forget(img)
	return true
}

func (b *Cache) ask(ctx context.Context, img Image) Answer {
	ctx, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	has, err := b.exists(ctx, img.Repository, img.Digest)
	switch {
	case err != nil:
		return Answer{Unknown, err}
	case has:
		return Answer{Found, nil}
	default:
		return Answer{Missing, nil}
	}
}
