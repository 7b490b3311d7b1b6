package registry

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/distribution/distribution/v3"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

// referrers lists the manifests of a repository that refer to one of its manifests, such as signatures
// and SBOMs. The engine has no such list. Manifests never change, so each is read once.
type referrers struct {
	namespace distribution.Namespace

	mu   sync.Mutex
	read map[digest.Digest]referrer
}

// referrer is a manifest as the list shows it. subject is "" if it refers to no manifest.
type referrer struct {
	subject    digest.Digest
	descriptor v1.Descriptor
}

func newReferrers(n distribution.Namespace) *referrers {
	return &referrers{namespace: n, read: map[digest.Digest]referrer{}}
}

// serve handles GET /v2/NAME/referrers/DIGEST.
func (l *referrers) serve(w http.ResponseWriter, r *http.Request, path v2Path) {
	d, err := parseDigest(path.reference)
	if err != nil {
		writeError(w, http.StatusBadRequest, "DIGEST_INVALID", err.Error())
		return
	}
	list, err := l.list(r.Context(), path.name, d)
	if unknown := (distribution.ErrRepositoryUnknown{}); errors.As(err, &unknown) {
		writeError(w, http.StatusNotFound, "NAME_UNKNOWN", unknown.Error())
		return
	}
	if err != nil {
		writeError(w, http.StatusInternalServerError, "UNKNOWN", err.Error())
		return
	}
	if kind := r.URL.Query().Get("artifactType"); kind != "" {
		list = slices.DeleteFunc(list, func(d v1.Descriptor) bool { return d.ArtifactType != kind })
		w.Header().Set("OCI-Filters-Applied", "artifactType")
	}
	w.Header().Set("Content-Type", v1.MediaTypeImageIndex)
	_ = json.NewEncoder(w).Encode(v1.Index{ // the client may have closed the connection
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageIndex, Manifests: list,
	})
}

// list returns the referrers of to, sorted by digest.
func (l *referrers) list(ctx context.Context, name string, to digest.Digest) ([]v1.Descriptor, error) {
	r, err := openRepository(ctx, l.namespace, name)
	if err != nil {
		return nil, err
	}
	enumerator, ok := r.manifests.(distribution.ManifestEnumerator)
	if !ok {
		return nil, errors.New("the engine does not list manifests")
	}
	found := map[digest.Digest]v1.Descriptor{}
	err = enumerator.Enumerate(ctx, func(d digest.Digest) error {
		m, err := l.manifest(ctx, r.manifests, d)
		if err == nil && m.subject == to {
			found[d] = m.descriptor
		}
		return err
	})
	if missing(err) {
		return nil, distribution.ErrRepositoryUnknown{Name: name}
	}
	if err != nil {
		return nil, err
	}
	list := slices.AppendSeq([]v1.Descriptor{}, maps.Values(found)) // never null, for clients
	slices.SortFunc(list, func(a, b v1.Descriptor) int { return cmp.Compare(a.Digest, b.Digest) })
	return list, nil
}

func (l *referrers) manifest(ctx context.Context, manifests distribution.ManifestService, d digest.Digest) (referrer, error) {
	l.mu.Lock()
	known, ok := l.read[d]
	l.mu.Unlock()
	if ok {
		return known, nil
	}
	m, err := manifests.Get(ctx, d)
	if err != nil {
		return referrer{}, err
	}
	mediaType, payload, err := m.Payload()
	if err != nil {
		return referrer{}, err
	}
	described := describeManifest(mediaType, d, payload)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read[d] = described
	return described, nil
}

// describeManifest reads the fields that "Listing Referrers" of the specification requires. If the
// manifest has no artifact type, it is the media type of the configuration.
func describeManifest(mediaType string, d digest.Digest, payload []byte) referrer {
	var m struct {
		ArtifactType string            `json:"artifactType"`
		Config       *v1.Descriptor    `json:"config"`
		Annotations  map[string]string `json:"annotations"`
	}
	if err := json.Unmarshal(payload, &m); err != nil {
		return referrer{}
	}
	if m.ArtifactType == "" && m.Config != nil {
		m.ArtifactType = m.Config.MediaType
	}
	return referrer{subject: subject(payload), descriptor: v1.Descriptor{
		MediaType: mediaType, Digest: d, Size: int64(len(payload)), ArtifactType: m.ArtifactType, Annotations: m.Annotations,
	}}
}
