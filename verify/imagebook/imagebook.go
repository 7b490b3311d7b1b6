// Package imagebook remembers a registry's answers about images, so that a rule may ask for them
// without waiting.
package imagebook

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

// Parse reads the image id of a container's status. An image that was
// loaded instead of pulled has no repository, and is an error.
func Parse(id string) (Image, error) {
	ref, err := reference.Parse(strings.TrimPrefix(id, "docker-pullable://"))
	if err != nil || ref.Digest == "" {
		return Image{}, fmt.Errorf("the runtime knows it only as %s, by no registry's name", id)
	}
	return Image{ref.Repository(), ref.Digest}, nil
}

// Exists reports whether our registry has an image by its digest
// ("sha256:…"). repository is HOST/PATH, as upstream wrote it. An error means
// that the registry did not answer.
type Exists func(ctx context.Context, repository, digest string) (bool, error)

// State says whether the registry has an image.
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
	Err   error // of an unknown one: why there is no answer, or nil before the first request
}

// Book has the registry's answers. An image that was found is asked for again each minute, since a
// verification may last for days; everything else slower and slower.
type Book struct {
	exists   Exists
	answered func() // called after every new answer
	queue    workqueue.TypedRateLimitingInterface[Image]

	mu      sync.Mutex
	answers map[Image]Answer
	wanted  map[Image]time.Time // when a rule last looked
}

const (
	lookups     = 4 // at a time
	lookupLimit = 10 * time.Second
	foundFor    = time.Minute
	// An answer has the rule look at each image that runs: once a minute at least. After this time without a
	// look no pod runs the image.
	wantedFor = 10 * time.Minute
)

// New returns a book that asks exists; answered is called after every new answer, where it is not nil.
func New(exists Exists, answered func()) *Book {
	slower := workqueue.NewTypedItemExponentialFailureRateLimiter[Image](500*time.Millisecond, 10*time.Second)
	return &Book{
		exists: exists, answered: answered, answers: map[Image]Answer{}, wanted: map[Image]time.Time{},
		queue: workqueue.NewTypedRateLimitingQueue(slower),
	}
}

// Look returns the last answer. An image that is new is looked up in the background.
func (b *Book) Look(img Image) Answer {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wanted[img] = time.Now()
	a, asked := b.answers[img]
	if !asked {
		b.answers[img] = Answer{}
		b.queue.Add(img)
	}
	return a
}

// Close ends a book that does not run.
func (b *Book) Close() { b.queue.ShutDown() }

// Run asks the registry until ctx ends.
func (b *Book) Run(ctx context.Context) {
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

func (b *Book) askNext(ctx context.Context) bool {
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
func (b *Book) forget(img Image, now time.Time) bool {
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

func (b *Book) ask(ctx context.Context, img Image) Answer {
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
