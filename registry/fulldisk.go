package registry

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"airgap.dev/airgap/registry/files"
)

// freeSpaceHint is the end of messages about a full disk.
const freeSpaceHint = "on the registry's host, airgap registry garbage-collect and airgap registry prune free space"

// checkFree returns files.ErrFull if less than the reserve is free.
func checkFree(free func() (int64, error)) error {
	bytes, err := free()
	if err == nil && bytes < reserve {
		err = fmt.Errorf("%w: %d bytes are free on the registry's disk, and %d must stay free", files.ErrFull, bytes, reserve)
	}
	return err
}

// full returns why the disk accepts no pushes; "": it does, or no user may push.
func (p *pushes) full() string {
	if !p.storage.writable || !p.users.hasUsers() {
		return ""
	}
	if err := checkFree(p.free); err != nil {
		return fmt.Sprintf("pushes are refused: %v; %s", err, freeSpaceHint)
	}
	return ""
}

// fullAnswer answers 507 in place of an error of the engine after the disk was full.
type fullAnswer struct {
	http.ResponseWriter

	request  *files.Request
	replaced bool
}

func (a *fullAnswer) WriteHeader(status int) {
	if a.replaced {
		return
	}
	if status < http.StatusBadRequest || !a.request.Full() {
		a.ResponseWriter.WriteHeader(status)
		return
	}
	a.replaced = true
	a.Header().Del("Content-Length")
	writeError(a.ResponseWriter, http.StatusInsufficientStorage, "DENIED", "the registry's disk is full; "+freeSpaceHint)
}

func (a *fullAnswer) Write(p []byte) (int, error) {
	if a.replaced {
		return len(p), nil
	}
	return a.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (a *fullAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// begun is the upload that a POST began, or the upload of the path.
func (p v2Path) begun(r *files.Request) v2Path {
	if p.kind != uploads || p.reference != "" {
		return p
	}
	for _, written := range r.Paths() {
		if rest, in := strings.CutPrefix(written, repositoryPath(p.name)+"/_uploads/"); in {
			p.reference, _, _ = strings.Cut(rest, "/")
		}
	}
	return p
}

// dropUpload removes a partial upload that the disk has no room for. The engine would keep it for two days.
func (p *pushes) dropUpload(ctx context.Context, path v2Path) {
	if _, err := uuid.Parse(path.reference); path.kind != uploads || err != nil {
		return
	}
	dir := repositoryPath(path.name) + "/_uploads/" + path.reference
	if err := p.storage.Delete(ctx, dir); err != nil && !missing(err) {
		p.log.Error("remove partial upload", "path", dir, "error", err.Error())
	}
}
