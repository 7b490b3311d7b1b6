package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/distribution/distribution/v3"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"airgap.dev/airgap/registry/ledger"
)

// followEvery is the interval at which a registry queries the others for pushes.
const followEvery = 5 * time.Second

// Lag is how far this registry is behind another one.
type Lag struct {
	Peer   string    `json:"peer"`            // ADDRESS:PORT
	Asked  time.Time `json:"asked,omitzero"`  // when the peer last answered
	Behind int       `json:"behind"`          // pushes and deletions of the peer that this registry has not applied yet
	Since  time.Time `json:"since,omitzero"`  // time of the oldest of them
	Error  string    `json:"error,omitempty"` // the error of the last attempt
}

// replica copies images that users push to another registry, and applies its deletions.
type replica struct {
	client    *Client
	ledger    *ledger.Ledger
	referrers *referrers
	namespace distribution.Namespace
	every     time.Duration
	reserved  reserved
	free      func() (int64, error) // bytes on the disk of the pushes
	log       *slog.Logger
	known     string         // ETag of the peer's records
	left      ledger.Records // of the peer, which this registry has not applied yet

	mu  sync.Mutex
	lag Lag
}

func newReplica(from *Client, p *pushes, n distribution.Namespace, every time.Duration, log *slog.Logger) *replica {
	return &replica{
		client: from, ledger: p.ledger, referrers: p.referrers, namespace: n, every: every,
		reserved: p.storage.reserved, free: p.free, log: log, left: ledger.Records{}, lag: Lag{Peer: from.Addr()},
	}
}

// follow polls the peer until ctx ends.
func (r *replica) follow(ctx context.Context) {
	for {
		err := r.catchUp(ctx)
		r.note(err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(r.every):
		}
	}
}

func (r *replica) note(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != r.lag.Error {
		r.log.Warn("follow registry", "peer", r.client.Addr(), "error", text)
	}
	r.lag.Error = text
}

// Lag returns the lag at the last query of the peer.
func (r *replica) Lag() Lag {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lag
}

// catchUp applies the changes of the peer. It tries failed changes again the next time, without asking
// for them again, and they do not block the other changes.
func (r *replica) catchUp(ctx context.Context) error {
	timeout, cancel := context.WithTimeout(ctx, dialTimeout)
	theirs, tag, unread := r.client.Pushed(timeout, r.known)
	cancel()
	if unread != nil && theirs == nil {
		return unread
	}
	for at, record := range r.pushable(theirs).All() {
		r.left.Set(at, record)
	}
	pending, err := r.ledger.Pending(r.left)
	if err != nil {
		return err
	}
	r.known, r.left = tag, pending
	left := changesOf(pending)
	var problems []error
	count, oldest := 0, time.Time{} // of the failed changes
	for i, c := range left {
		r.progress(count+len(left)-i, earlier(oldest, c.since))
		err := r.apply(ctx, c.at, c.record)
		if err == nil {
			delete(r.left[c.at.Repository], c.at.Reference)
			continue
		}
		if count++; len(problems) < maxProblems {
			problems = append(problems, fmt.Errorf("%s: %w", c.at, err))
		}
		oldest = earlier(oldest, c.record.Time)
	}
	r.progress(count, oldest)
	if count > len(problems) {
		problems = append(problems, fmt.Errorf("%d more images", count-len(problems)))
	}
	return errors.Join(append(problems, unread)...)
}

// maxProblems limits the failed images that an error names.
const maxProblems = 10

// earlier returns the earlier time. A zero time counts as none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// change is a record of a peer that this registry has not applied yet. since is the time of the oldest
// change from here on.
type change struct {
	at     ledger.Reference
	record ledger.Record
	since  time.Time
}

// changesOf returns the manifests before the tags, each sorted by name.
func changesOf(pending ledger.Records) []change {
	all := make([]change, 0, pending.Count())
	for at, record := range pending.All() {
		all = append(all, change{at: at, record: record})
	}
	slices.SortFunc(all, func(a, b change) int {
		if a.at.IsDigest() != b.at.IsDigest() {
			if a.at.IsDigest() {
				return -1
			}
			return 1
		}
		return strings.Compare(a.at.String(), b.at.String())
	})
	var since time.Time
	for i := len(all) - 1; i >= 0; i-- {
		since = earlier(since, all[i].record.Time)
		all[i].since = since
	}
	return all
}

// pushable removes repositories that this registry reserves for bundles, and references that are neither tag nor digest. It
// logs them each time the peer's records change.
func (r *replica) pushable(theirs ledger.Records) ledger.Records {
	allowed := ledger.Records{}
	for repository, references := range theirs {
		if r.reserved.has(repository) {
			r.log.Warn("push of another registry refused", "peer", r.client.Addr(), "repository", repository, "reason", r.reserved.why(repository))
			continue
		}
		for reference, record := range references {
			_, notDigest := parseDigest(reference)
			if notDigest != nil && !tagName.MatchString(reference) {
				r.log.Warn("push of another registry refused", "peer", r.client.Addr(), "repository", repository, "reason", fmt.Sprintf("%q is no tag or digest", reference))
				continue
			}
			allowed.Set(ledger.Reference{Repository: repository, Reference: reference}, record)
		}
	}
	return allowed
}

func (r *replica) progress(behind int, since time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lag.Asked, r.lag.Behind, r.lag.Since = time.Now().UTC(), behind, since
}

// apply first copies, which can take long. Then the ledger decides.
func (r *replica) apply(ctx context.Context, at ledger.Reference, record ledger.Record) error {
	to, err := openRepository(ctx, r.namespace, at.Repository)
	if err != nil {
		return err
	}
	if !record.Deleted() {
		if err := (copier{to, r.client, r.referrers, r.free}).copyManifest(ctx, record.Digest); err != nil {
			return err
		}
	}
	return r.ledger.Follow(at, record, func() error {
		err := to.set(ctx, at.Reference, record.Digest)
		if err == nil && record.Deleted() && at.IsDigest() {
			r.referrers.removed(at.Repository, digest.Digest(at.Reference))
		}
		return err
	})
}

// copier copies content into one repository.
type copier struct {
	*openedRepository

	from      *Client
	referrers *referrers
	free      func() (int64, error)
}

// errNoManifest is the error for a manifest that the other registry does not have.
var errNoManifest = errors.New("the other registry does not have it")

// maxNesting is how many levels of indexes a copy descends at a time. It has the manifests of all
// levels in memory. Deeper ones arrive too: each manifest is a change of its own, and the next attempt
// finds those that exist by then.
const maxNesting = 4

// copyManifest copies the content that the manifest refers to, and then the manifest. The engine
// checks every blob against its digest. An index may lack manifests, as it was pushed.
func (c copier) copyManifest(ctx context.Context, d digest.Digest) error {
	return c.copyLevels(ctx, d, maxNesting)
}

// copyLevels is copyManifest for at most this many levels of indexes.
func (c copier) copyLevels(ctx context.Context, d digest.Digest, levels int) error {
	if exists, err := c.manifests.Exists(ctx, d); err != nil || exists {
		return err
	}
	if levels < 0 {
		return fmt.Errorf("manifest %s is below more than %d levels of indexes: it comes first", d, maxNesting)
	}
	mediaType, content, err := c.from.manifest(ctx, c.name, d)
	if err != nil {
		return err
	}
	if problem := checkManifest(content); problem != nil {
		return fmt.Errorf("manifest %s: %w", d, problem)
	}
	m, described, err := distribution.UnmarshalManifest(mediaType, content)
	if err != nil {
		return err
	}
	if described.Digest != d {
		return fmt.Errorf("manifest %s arrived with digest %s", d, described.Digest)
	}
	index := types.MediaType(mediaType).IsIndex()
	for _, needed := range m.References() {
		var err error
		if isManifest(needed.MediaType) {
			err = c.copyLevels(ctx, needed.Digest, levels-1)
		} else {
			err = c.copyBlob(ctx, needed.Digest)
		}
		if leftOut := index && errors.Is(err, errNoManifest); err != nil && !leftOut {
			return err
		}
	}
	if _, err = c.manifests.Put(ctx, m); err == nil {
		c.referrers.added(c.name, d, content)
	}
	return err
}

func (c copier) copyBlob(ctx context.Context, d digest.Digest) error {
	if _, err := c.blobs.Stat(ctx, d); !errors.Is(err, distribution.ErrBlobUnknown) {
		return err
	}
	content, err := c.from.blob(ctx, c.name, d)
	if err != nil {
		return err
	}
	defer content.Close()
	w, err := c.blobs.Create(ctx)
	if err != nil {
		return err
	}
	defer w.Close()
	if _, err = io.Copy(w, &limitedReader{Reader: content, free: c.free}); err == nil {
		_, err = w.Commit(ctx, v1.Descriptor{Digest: d})
	}
	if err != nil {
		return errors.Join(fmt.Errorf("copy blob %s: %w", d, err), w.Cancel(ctx))
	}
	return nil
}

// manifest returns the media type and the content of a manifest, at most maxManifest bytes. If the
// registry does not have it, the error is errNoManifest.
func (c *Client) manifest(ctx context.Context, repository string, d digest.Digest) (string, []byte, error) {
	path := v2Path{repository, "manifests", d.String()}.String()
	resp, err := c.do(ctx, http.MethodGet, path, strings.Join(manifestTypes(), ", "))
	if err != nil {
		return "", nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound {
		return "", nil, fmt.Errorf("get manifest %s of %s: %w", d, repository, errNoManifest)
	}
	if err := checkStatus(resp, http.StatusOK); err != nil {
		return "", nil, fmt.Errorf("get manifest %s of %s: %w", d, repository, err)
	}
	content, err := io.ReadAll(io.LimitReader(resp.Body, maxManifest+1))
	if err == nil && len(content) > maxManifest {
		err = fmt.Errorf("get manifest %s of %s: it has more than %d bytes", d, repository, maxManifest)
	}
	return resp.Header.Get("Content-Type"), content, err
}

func (c *Client) blob(ctx context.Context, repository string, d digest.Digest) (io.ReadCloser, error) {
	resp, err := c.do(ctx, http.MethodGet, v2Path{repository, "blobs", d.String()}.String(), "")
	if err != nil {
		return nil, err
	}
	if err := checkStatus(resp, http.StatusOK); err != nil {
		return nil, errors.Join(fmt.Errorf("get blob %s of %s: %w", d, repository, err), resp.Body.Close())
	}
	return resp.Body, nil
}
