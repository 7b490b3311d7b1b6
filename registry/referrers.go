package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"slices"
	"sync"

	"github.com/distribution/distribution/v3"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

// referrers lists the manifests of a repository that refer to one of its manifests, such as signatures
// and SBOMs. The engine has no such list. The manifests of a repository are read once, at the first
// request for it. After that the list follows pushes and deletions, so the cost of a request depends only on the length of its list.
type referrers struct {
	storage storage
	log     *slog.Logger

	mu           sync.Mutex
	repositories map[string]*followedIndex // existing repositories for which a client asked
}

func newReferrers(s storage, log *slog.Logger) *referrers {
	return &referrers{storage: s, log: log, repositories: map[string]*followedIndex{}}
}

// serve handles GET /v2/NAME/referrers/DIGEST. An unknown repository has no referrers: a client that
// gets 404 assumes that the registry does not implement this list.
func (l *referrers) serve(w http.ResponseWriter, r *http.Request, at v2Path) {
	query := r.URL.Query()
	found, err := l.find(r.Context(), at.name, digest.Digest(at.reference))
	if kind := query.Get("artifactType"); kind != "" {
		found = slices.DeleteFunc(found, func(f referrer) bool { return f.kind != kind })
		w.Header().Set("OCI-Filters-Applied", "artifactType")
	}
	var list []v1.Descriptor
	var next digest.Digest
	if err == nil {
		list, next, err = l.page(r.Context(), at.name, after(found, digest.Digest(query.Get("last"))))
	}
	if err != nil {
		w.Header().Del("OCI-Filters-Applied")
		writeError(w, http.StatusInternalServerError, "UNKNOWN", err.Error())
		return
	}
	if next != "" {
		w.Header().Set("Link", fmt.Sprintf(`<%s?%s>; rel="next"`, at, nextPage(query, next)))
	}
	w.Header().Set("Content-Type", v1.MediaTypeImageIndex)
	_ = json.NewEncoder(w).Encode(v1.Index{ // the client may have closed the connection
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageIndex, Manifests: list,
	})
}

// nextPage returns the parameters of the next page.
func nextPage(query url.Values, last digest.Digest) string {
	next := url.Values{"last": {last.String()}}
	if kind := query.Get("artifactType"); kind != "" {
		next.Set("artifactType", kind)
	}
	return next.Encode()
}

// find returns the referrers of a manifest, sorted by digest.
func (l *referrers) find(ctx context.Context, name string, to digest.Digest) ([]referrer, error) {
	_, err := l.storage.Stat(ctx, repositoryPath(name)+"/_manifests")
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return l.index(name).find(ctx, to, func() (*referrerIndex, error) {
		return l.build(context.WithoutCancel(ctx), name) // a client that leaves must not repeat the work
	})
}

// index returns the index of a repository, which may not be read yet.
func (l *referrers) index(name string) *followedIndex {
	l.mu.Lock()
	defer l.mu.Unlock()
	index := l.repositories[name]
	if index == nil {
		index = &followedIndex{}
		l.repositories[name] = index
	}
	return index
}

// build reads all manifests of the repository. It leaves a damaged one out, and logs it.
func (l *referrers) build(ctx context.Context, name string) (*referrerIndex, error) {
	links, err := l.storage.List(ctx, repositoryPath(name)+"/_manifests/revisions/sha256")
	if err != nil && !missing(err) {
		return nil, err
	}
	manifests, err := l.manifests(ctx, name)
	if err != nil {
		return nil, err
	}
	index := newReferrerIndex()
	for _, link := range links {
		d := digest.NewDigestFromEncoded(digest.SHA256, path.Base(link))
		_, payload, err := read(ctx, manifests, d)
		if err != nil {
			l.log.Warn("a manifest is not in the list of referrers", "repository", name, "manifest", d.String(), "error", err.Error())
			continue
		}
		if to := subject(payload); to != "" {
			index.add(to, referrer{d, kindOf(d, payload)})
		}
	}
	return index, nil
}

func (l *referrers) manifests(ctx context.Context, name string) (distribution.ManifestService, error) {
	n, err := l.storage.namespace(ctx)
	if err != nil {
		return nil, err
	}
	r, err := openRepository(ctx, n, name)
	if err != nil {
		return nil, err
	}
	return r.manifests, nil
}

func read(ctx context.Context, manifests distribution.ManifestService, d digest.Digest) (mediaType string, payload []byte, err error) {
	if err := d.Validate(); err != nil {
		return "", nil, err
	}
	m, err := manifests.Get(ctx, d)
	if err != nil {
		return "", nil, err
	}
	return m.Payload()
}

// after returns the referrers after the digest last.
func after(found []referrer, last digest.Digest) []referrer {
	i, is := slices.BinarySearchFunc(found, last, referrer.compare)
	if is {
		i++
	}
	return found[i:]
}

// page describes referrers until their manifests have maxManifest bytes: clients read no larger list.
// next is the last digest if there are more. Manifests that cannot be read are left out.
func (l *referrers) page(ctx context.Context, name string, found []referrer) (list []v1.Descriptor, next digest.Digest, err error) {
	list = []v1.Descriptor{} // never null, for clients
	if len(found) == 0 {
		return list, "", nil
	}
	manifests, err := l.manifests(ctx, name)
	if err != nil {
		return nil, "", err
	}
	size := 0
	for _, f := range found {
		if err := ctx.Err(); err != nil {
			return nil, "", err
		}
		mediaType, payload, err := read(ctx, manifests, f.digest)
		if err != nil {
			continue
		}
		if size += len(payload); size > maxManifest && len(list) > 0 {
			return list, list[len(list)-1].Digest, nil
		}
		list = append(list, describeManifest(mediaType, f.digest, payload))
	}
	return list, "", nil
}

// added adds a manifest of the repository, if its referrers were read before.
func (l *referrers) added(name string, d digest.Digest, payload []byte) {
	if to := subject(payload); to != "" {
		added := referrer{d, kindOf(d, payload)}
		l.change(name, func(index *referrerIndex) { index.add(to, added) })
	}
}

// removed removes a manifest of the repository.
func (l *referrers) removed(name string, d digest.Digest) {
	l.change(name, func(index *referrerIndex) { index.remove(d) })
}

func (l *referrers) change(name string, do func(*referrerIndex)) {
	l.mu.Lock()
	index := l.repositories[name]
	l.mu.Unlock()
	if index != nil {
		index.change(do)
	}
}

// maxKind is the longest media type in bytes, in RFC 6838.
const maxKind = 255

// kindOf returns the artifact type of a manifest; "": it is longer than any media type.
func kindOf(d digest.Digest, payload []byte) string {
	kind := describeManifest("", d, payload).ArtifactType
	if len(kind) > maxKind {
		return ""
	}
	return kind
}

// describeManifest reads the fields that "Listing Referrers" of the specification requires. If the
// manifest of an image has no artifact type, it is the media type of the configuration.
func describeManifest(mediaType string, d digest.Digest, payload []byte) v1.Descriptor {
	var m struct {
		ArtifactType string            `json:"artifactType"`
		Config       *v1.Descriptor    `json:"config"`
		Annotations  map[string]string `json:"annotations"`
	}
	_ = json.Unmarshal(payload, &m) // the engine has parsed it
	if m.ArtifactType == "" && m.Config != nil {
		m.ArtifactType = m.Config.MediaType
	}
	return v1.Descriptor{MediaType: mediaType, Digest: d, Size: int64(len(payload)), ArtifactType: m.ArtifactType, Annotations: m.Annotations}
}
