package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/registry/files"
	"airgap.dev/airgap/registry/ledger"
)

const (
	// maxManifest is the engine's limit in bytes. The specification requires at least this size.
	maxManifest = files.MaxContent
	// reserve is the space in bytes that pushes leave free on their disk for other data.
	reserve = 1 << 30
)

// pushes handles images that users push, and protects the content of bundles.
type pushes struct {
	storage   storage
	catalog   *catalog
	users     *pushers
	referrers *referrers
	ledger    *ledger.Ledger
	hidden    []string              // reserved repositories with pushed images, which are not served
	free      func() (int64, error) // bytes on the disk of the pushes
	log       *slog.Logger
}

func newPushes(c *catalog, s storage, users string, log *slog.Logger) (*pushes, error) {
	p := &pushes{
		storage: s, catalog: c, users: newPushers(users), referrers: newReferrers(s, log), log: log,
		free: func() (int64, error) { return host.FreeSpace(s.pushed) },
	}
	if !s.writable {
		return p, nil
	}
	if s.files.Foreign() {
		return nil, fmt.Errorf("%s belongs to another user: systemctl start %s runs the registry as that user", s.pushed, UnitName)
	}
	var err error
	p.ledger, p.hidden, err = openLedger(s, log)
	return p, err
}

// authorize reports whether the request may continue, and its user if the request needs one. If not,
// authorize has written the answer. All clients may read. If pushes are possible, /v2/ requires
// credentials, because clients keep them only then.
func (p *pushes) authorize(w http.ResponseWriter, r *http.Request, path v2Path) (user string, ok bool) {
	ping := path == v2Path{} && r.URL.Path == "/v2/"
	if reads(r) && !ping && path.kind != uploads {
		return "", true
	}
	possible := p.storage.writable && p.users.hasUsers()
	if !possible && ping && reads(r) {
		return "", true
	}
	if !possible {
		w.Header().Set("Allow", "GET, HEAD")
		writeError(w, http.StatusMethodNotAllowed, "UNSUPPORTED", "this registry has no users who may push; on its host, add one with airgap registry passwd USER")
		return "", false
	}
	user, err := p.users.user(r)
	if err == nil && user != "" && path.name != "" {
		return user, p.mayWrite(w, r, path.name, user)
	}
	if err == nil && (user != "" || ping && r.Header.Get("Authorization") != "") {
		return user, true
	}
	if err == nil {
		err = errNoCredentials
	}
	scope := ""
	if path.name != "" {
		scope = "repository:" + path.name + ":pull,push"
	}
	challenge(w, r, scope)
	refuse(w, err)
	return "", false
}

// mayWrite reports whether the user may write to the repository. If not, it logs the refusal and
// writes the answer.
func (p *pushes) mayWrite(w http.ResponseWriter, r *http.Request, repository, user string) bool {
	why, err := p.denial(repository, user)
	switch {
	case err != nil:
		refuse(w, err)
	case why != "":
		p.log.Warn("push refused", "user", user, "repository", repository, "method", r.Method, "client", r.RemoteAddr, "reason", why)
		writeError(w, http.StatusForbidden, "DENIED", why)
	}
	return err == nil && why == ""
}

// denial returns why the user may not write to the repository; "": the user may.
func (p *pushes) denial(repository, user string) (string, error) {
	if p.storage.reserved.has(repository) {
		return p.storage.reserved.why(repository), nil
	}
	granted, err := Users{File: p.users.file}.grant(user)
	if err != nil || granted.covers(repository) {
		return "", err
	}
	return fmt.Sprintf("%s may push only to %s, not to %s; airgap registry passwd %s --prefix NAME on the registry's host changes this", user, granted, repository, user), nil
}

// serve passes a user's push, deletion or part of an upload to the engine.
func (p *pushes) serve(w http.ResponseWriter, r *http.Request, path v2Path, user string, engine http.Handler) {
	if problem := p.conflict(r, path); problem != nil {
		problem.write(w)
		if problem.status == http.StatusInsufficientStorage {
			p.dropUpload(r.Context(), path)
		}
		return
	}
	ctx, request := files.WithRequest(r.Context())
	r = r.WithContext(ctx)
	if r.Body != nil {
		free := func() error { return files.NoteFull(r.Context(), checkFree(p.free)) }
		r.Body = &upload{ReadCloser: r.Body, control: http.NewResponseController(w), check: free}
	}
	answer := &fullAnswer{ResponseWriter: w, request: request}
	p.change(answer, r, path, user, engine)
	if err := request.Close(); err != nil && !request.Full() {
		p.log.Error("close upload", "repository", path.name, "error", err.Error())
	}
	if answer.replaced {
		p.dropUpload(r.Context(), path.begun(request))
	}
}

// change has the engine make the change of a request, and records it.
func (p *pushes) change(w http.ResponseWriter, r *http.Request, path v2Path, user string, engine http.Handler) {
	if r.Method == http.MethodDelete {
		r = r.WithContext(context.WithValue(r.Context(), deletion{}, true))
	}
	at := ledger.Reference{Repository: path.name, Reference: path.reference}
	switch {
	case path.kind == "manifests" && r.Method == http.MethodPut:
		p.putManifest(w, r, at, user, engine)
	case path.kind == "manifests" && r.Method == http.MethodDelete:
		p.delete(w, r, at, user, engine)
	case path.kind == uploads:
		p.serveUpload(w, r, path, engine)
	default:
		engine.ServeHTTP(w, r)
	}
}

// resetReference returns a function that sets the reference to d again, as the engine has just done.
func (p *pushes) resetReference(ctx context.Context, at ledger.Reference, d digest.Digest) func() error {
	return func() error {
		n, err := p.storage.namespace(ctx)
		if err != nil {
			return err
		}
		r, err := openRepository(ctx, n, at.Repository)
		if err != nil {
			return err
		}
		return r.set(ctx, at.Reference, d)
	}
}

// logChange logs a push or a deletion, and an error of the ledger. After such an error the engine's
// files have the change, and the next start of the registry adds it to the ledger.
func (p *pushes) logChange(what string, at ledger.Reference, user string, err error) {
	p.log.Info(what, "user", user, "repository", at.Repository, "reference", at.Reference)
	if p.storage.disk.wrote("/"+ledger.File, err) != nil {
		p.log.Error("write ledger", "repository", at.Repository, "reference", at.Reference, "error", err.Error())
	}
}

// problem is an error answer in the format of the specification.
type problem struct {
	status        int
	code, message string
}

func (p *problem) Error() string { return p.message }

func (p *problem) write(w http.ResponseWriter) { writeError(w, p.status, p.code, p.message) }

// conflict returns the reason to refuse the request, or nil.
func (p *pushes) conflict(r *http.Request, path v2Path) *problem {
	if r.Method == http.MethodDelete {
		return nil
	}
	if foreign := unsupported(r, path); foreign != "" {
		return &problem{http.StatusBadRequest, "DIGEST_INVALID", fmt.Sprintf("%s: this registry takes SHA-256 digests only", foreign)}
	}
	free, err := p.free()
	if err != nil {
		return &problem{http.StatusInternalServerError, "UNKNOWN", err.Error()}
	}
	if free-max(r.ContentLength, 0) < reserve {
		return &problem{http.StatusInsufficientStorage, "DENIED",
			fmt.Sprintf("%d bytes are free on the registry's disk, and %d must stay free; %s", free, reserve, freeSpaceHint)}
	}
	return nil
}

// unsupported returns a digest of the request that is not SHA-256, or "".
func unsupported(r *http.Request, path v2Path) string {
	for _, s := range []string{path.reference, r.URL.Query().Get("digest")} {
		if d, err := digest.Parse(s); err == nil && d.Algorithm() != digest.SHA256 {
			return s
		}
	}
	return ""
}

// putManifest records the push. If the manifest has a subject, the answer names it, as required by
// "Pushing Manifests with Subject" of the specification.
func (p *pushes) putManifest(w http.ResponseWriter, r *http.Request, at ledger.Reference, user string, engine http.Handler) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxManifest))
	if tooBig := (*http.MaxBytesError)(nil); errors.As(err, &tooBig) {
		writeError(w, http.StatusRequestEntityTooLarge, "MANIFEST_INVALID", fmt.Sprintf("the manifest has more than %d bytes", maxManifest))
		return
	}
	if err != nil {
		writeError(w, http.StatusBadRequest, "MANIFEST_INVALID", err.Error())
		return
	}
	if problem := checkManifest(body); problem != nil {
		problem.write(w)
		return
	}
	d := digest.FromBytes(body)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	engine.ServeHTTP(&hooked{w, http.StatusCreated, func() {
		p.logChange("pushed", at, user, p.ledger.Push(at, d, p.resetReference(r.Context(), at, d)))
		p.referrers.added(at.Repository, d, body)
		if s := subject(body); s != "" {
			w.Header().Set("OCI-Subject", s.String())
		}
	}}, r)
}

// subject returns the digest of the manifest's subject; "": it has none, or no valid one.
func subject(manifest []byte) digest.Digest {
	var m struct {
		Subject *v1.Descriptor `json:"subject"`
	}
	if err := json.Unmarshal(manifest, &m); err != nil || m.Subject == nil || m.Subject.Digest.Validate() != nil {
		return ""
	}
	return m.Subject.Digest
}

// hooked calls then before it sends the status success to the client.
type hooked struct {
	http.ResponseWriter

	success int
	then    func()
}

func (h *hooked) WriteHeader(status int) {
	if status == h.success {
		h.then()
	}
	h.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the connection.
func (h *hooked) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// upload extends the read deadline while the client sends data and the disk has space.
type upload struct {
	io.ReadCloser

	control  *http.ResponseController
	check    func() error // returns an error if the disk is full
	extended time.Time
}

func (u *upload) Read(p []byte) (int, error) {
	if now := time.Now(); now.Sub(u.extended) > time.Second {
		u.extended = now
		_ = u.control.SetReadDeadline(now.Add(bodyTimeout)) // some ResponseWriters of tests cannot
		if err := u.check(); err != nil {
			return 0, err
		}
	}
	return u.ReadCloser.Read(p)
}

// limitedReader stops when only the reserve is free on the disk, because etcd may use the same disk.
type limitedReader struct {
	io.Reader

	free    func() (int64, error)
	checked time.Time
}

func (r *limitedReader) Read(p []byte) (int, error) {
	if now := time.Now(); now.Sub(r.checked) > time.Second {
		r.checked = now
		if err := checkFree(r.free); err != nil {
			return 0, err
		}
	}
	return r.Reader.Read(p)
}

// layer returns a pushed blob of the repository name. Its bytes may come from a bundle. For whole see openPushed.
func (p *pushes) layer(ctx context.Context, name string, d digest.Digest, whole bool) (opener, bool) {
	if !p.storage.writable || d.Validate() != nil || d.Algorithm() != digest.SHA256 {
		return nil, false
	}
	if _, err := p.storage.Stat(ctx, repositoryPath(name)+layerPath(d)); err != nil {
		return nil, false
	}
	if held, ok := p.catalog.blobs[d]; ok {
		return held.open, true
	}
	return p.storage.openPushed(d, whole)
}
