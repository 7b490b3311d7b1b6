package registry

import (
	"context"
	"errors"
	"net/http"
	"path"

	"github.com/distribution/distribution/v3"
	"github.com/opencontainers/go-digest"

	"airgap.dev/airgap/registry/files"
	"airgap.dev/airgap/registry/ledger"
)

// delete deletes a tag, or a manifest with its tags.
func (p *pushes) delete(w http.ResponseWriter, r *http.Request, at ledger.Reference, user string, engine http.Handler) {
	d, err := parseDigest(at.Reference)
	if err != nil { // a tag, or a digest that no manifest has
		engine.ServeHTTP(&hooked{w, http.StatusAccepted, func() {
			reset := p.resetReference(r.Context(), at, "")
			p.logChange("deleted", at, user, p.ledger.Remove(at, func([]string) error { return reset() }))
		}}, r)
		return
	}
	deleted := false
	err = p.ledger.Remove(at, func(tags []string) error {
		err := p.deleteManifest(r.Context(), at.Repository, d, tags)
		deleted = err == nil
		return err
	})
	switch {
	case errors.Is(err, distribution.ErrBlobUnknown):
		writeError(w, http.StatusNotFound, "MANIFEST_UNKNOWN", at.String()+" does not exist")
	case !deleted:
		p.log.Error("delete manifest", "repository", at.Repository, "reference", at.Reference, "error", err.Error())
		writeError(w, http.StatusInternalServerError, "UNKNOWN", err.Error())
	default:
		p.logChange("deleted", at, user, err)
		p.referrers.removed(at.Repository, d)
		w.WriteHeader(http.StatusAccepted)
	}
}

// deleteManifest deletes a manifest after its tags. The engine's own handler reads the link of every
// tag in the repository to find them, and writes the directory to the disk after each of them.
func (p *pushes) deleteManifest(ctx context.Context, repository string, d digest.Digest, tags []string) error {
	n, err := p.storage.namespace(ctx)
	if err != nil {
		return err
	}
	r, err := openRepository(ctx, n, repository)
	if err != nil {
		return err
	}
	exists, err := r.manifests.Exists(ctx, d)
	if err != nil {
		return err
	}
	if !exists {
		return distribution.ErrBlobUnknown
	}
	if err := p.storage.removeTags(repository, tags); err != nil {
		return err
	}
	return r.manifests.Delete(ctx, d)
}

// removeTags removes tags of pushed images, and then writes their directory to the disk.
func (s storage) removeTags(repository string, tags []string) error {
	if len(tags) == 0 {
		return nil
	}
	dir := path.Join(repositoryPath(repository), "_manifests/tags")
	for _, tag := range tags {
		if err := s.files.RemoveAll(files.Local(path.Join(dir, tag))); err != nil {
			return err
		}
	}
	return files.SyncDir(s.files, dir)
}
