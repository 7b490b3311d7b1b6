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
	"os"
	"time"

	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"airgap.dev/airgap/internal/host"
)

const (
	// maxManifest is what the engine takes as well, and what the specification
	// wants at least, bytes.
	maxManifest = 4 << 20
	// reserve stays free on the disk of the pushes for what else is on it, bytes.
	reserve = 1 << 30
)

// pushes are what the site itself brings: who may bring it, and what must not be
// changed by it.
type pushes struct {
	storage storage
	catalog *catalog
	users   *pushers
	ledger  *ledger
	free    func() (int64, error) // bytes on the disk of the pushes
	log     *slog.Logger
}

func newPushes(c *catalog, s storage, users string, log *slog.Logger) (*pushes, error) {
	p := &pushes{
		storage: s, catalog: c, users: newPushers(users), log: log,
		free: func() (int64, error) { return host.FreeSpace(s.pushed) },
	}
	if !s.writable {
		return p, nil
	}
	if s.files.Foreign() {
		return nil, fmt.Errorf("%s belongs to another user: systemctl start %s runs the registry as that one", s.pushed, UnitName)
	}
	var err error
	p.ledger, err = openLedger(s, log)
	return p, err
}

// admits reports whether the request may go on, and who sends it, where that had to
// be known. If not, it has been answered. Everybody may read; /v2/ asks for
// credentials where pushing is possible, since clients keep them only then.
func (p *pushes) admits(w http.ResponseWriter, r *http.Request, path v2Path) (user string, ok bool) {
	ping := path == v2Path{} && r.URL.Path == "/v2/"
	if reads(r) && !ping && path.kind != uploads {
		return "", true
	}
	possible := p.storage.writable && p.users.any()
	if !possible && ping && reads(r) {
		return "", true
	}
	if !possible {
		w.Header().Set("Allow", "GET, HEAD")
		writeError(w, http.StatusMethodNotAllowed, "UNSUPPORTED", "nobody may push to this registry; airgap registry passwd USER on its host lets somebody")
		return "", false
	}
	user, err := p.users.user(r)
	if err == nil && user != "" && path.name != "" {
		return user, p.permits(w, r, path.name, user)
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

// permits reports whether the user may write to the repository. If not, it has answered,
// and the journal has it.
func (p *pushes) permits(w http.ResponseWriter, r *http.Request, repository, user string) bool {
	why, err := p.forbidden(repository, user)
	switch {
	case err != nil:
		refuse(w, err)
	case why != "":
		p.log.Warn("push refused", "user", user, "repository", repository, "method", r.Method, "client", r.RemoteAddr, "reason", why)
		writeError(w, http.StatusForbidden, "DENIED", why)
	}
	return err == nil && why == ""
}

// forbidden is why the user may not write to the repository; "" for nothing.
func (p *pushes) forbidden(repository, user string) (string, error) {
	if p.storage.reserved.has(repository) {
		return p.storage.reserved.why(repository), nil
	}
	granted, err := Users{File: p.users.file}.grant(user)
	if err != nil || granted.covers(repository) {
		return "", err
	}
	return fmt.Sprintf("%s may push only to %s, not to %s; airgap registry passwd %s --prefix NAME on the registry's host changes that", user, granted, repository, user), nil
}

// serve lets the engine take a user's push, deletion or part of an upload.
func (p *pushes) serve(w http.ResponseWriter, r *http.Request, path v2Path, user string, engine http.Handler) {
	if problem := p.conflict(r, path); problem != nil {
		problem.write(w)
		return
	}
	if r.Body != nil {
		r.Body = &upload{ReadCloser: r.Body, control: http.NewResponseController(w), free: p.free}
	}
	at := Reference{path.name, path.reference}
	switch {
	case path.kind == "manifests" && r.Method == http.MethodPut:
		p.putManifest(w, r, at, user, engine)
	case path.kind == "manifests" && r.Method == http.MethodDelete:
		noted := func() { p.noted("deleted", at, user, p.ledger.remove(at, p.again(r.Context(), at, ""))) }
		engine.ServeHTTP(&hooked{w, http.StatusAccepted, noted}, r)
	default:
		engine.ServeHTTP(w, r)
	}
}

// again has a reference name what the engine has just had it name.
func (p *pushes) again(ctx context.Context, at Reference, d digest.Digest) func() error {
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

// noted logs who did what. Where the ledger could not be written, the engine has
// done what it was told, and the next start of the registry will find it.
func (p *pushes) noted(what string, at Reference, user string, err error) {
	p.log.Info(what, "user", user, "repository", at.Repository, "reference", at.Reference)
	if err != nil {
		p.log.Error("note in ledger", "repository", at.Repository, "reference", at.Reference, "error", err.Error())
	}
}

// problem is an answer in the form of the specification.
type problem struct {
	status        int
	code, message string
}

func (p *problem) write(w http.ResponseWriter) { writeError(w, p.status, p.code, p.message) }

// conflict is what keeps the request from being done; nil for nothing.
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
		return &problem{http.StatusInsufficientStorage, "DENIED", fmt.Sprintf("%d bytes are free on the registry's disk, of which %d are kept", free, reserve)}
	}
	return nil
}

// unsupported is a digest of another kind than SHA-256 in the request.
func unsupported(r *http.Request, path v2Path) string {
	for _, s := range []string{path.reference, r.URL.Query().Get("digest")} {
		if d, err := digest.Parse(s); err == nil && d.Algorithm() != digest.SHA256 {
			return s
		}
	}
	return ""
}

// putManifest notes the push, and names the manifest that this one refers to, as the
// specification's "Pushing Manifests with Subject" requires.
func (p *pushes) putManifest(w http.ResponseWriter, r *http.Request, at Reference, user string, engine http.Handler) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxManifest))
	if tooBig := (*http.MaxBytesError)(nil); errors.As(err, &tooBig) {
		writeError(w, http.StatusRequestEntityTooLarge, "MANIFEST_INVALID", fmt.Sprintf("a manifest has at most %d bytes", maxManifest))
		return
	}
	if err != nil {
		writeError(w, http.StatusBadRequest, "MANIFEST_INVALID", err.Error())
		return
	}
	d := digest.FromBytes(body)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	engine.ServeHTTP(&hooked{w, http.StatusCreated, func() {
		p.noted("pushed", at, user, p.ledger.push(at, d, p.again(r.Context(), at, d)))
		if s := subject(body); s != "" {
			w.Header().Set("OCI-Subject", s.String())
		}
	}}, r)
}

// subject is the digest of the manifest that this one refers to; "" for none.
func subject(manifest []byte) digest.Digest {
	var m struct {
		Subject *v1.Descriptor `json:"subject"`
	}
	if err := json.Unmarshal(manifest, &m); err != nil || m.Subject == nil {
		return ""
	}
	return m.Subject.Digest
}

// hooked does something before a client hears of its success.
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

// upload moves the deadline for reading as long as the client sends something, and there is
// room for it.
type upload struct {
	io.ReadCloser

	control *http.ResponseController
	free    func() (int64, error)
	moved   time.Time
}

func (u *upload) Read(p []byte) (int, error) {
	if now := time.Now(); now.Sub(u.moved) > time.Second {
		u.moved = now
		_ = u.control.SetReadDeadline(now.Add(bodyTimeout)) // not every ResponseWriter of a test can
		if err := enough(u.free); err != nil {
			return 0, err
		}
	}
	return u.ReadCloser.Read(p)
}

// reserving ends when the disk has no more room than is kept: etcd may be on it.
type reserving struct {
	io.Reader

	free   func() (int64, error)
	looked time.Time
}

func (r *reserving) Read(p []byte) (int, error) {
	if now := time.Now(); now.Sub(r.looked) > time.Second {
		r.looked = now
		if err := enough(r.free); err != nil {
			return 0, err
		}
	}
	return r.Reader.Read(p)
}

func enough(free func() (int64, error)) error {
	bytes, err := free()
	if err == nil && bytes < reserve {
		err = fmt.Errorf("%d bytes are free on the registry's disk, of which %d are kept", bytes, reserve)
	}
	return err
}

// layer finds a pushed blob that may be read through the repository called name.
// Its bytes may be a bundle's.
func (p *pushes) layer(ctx context.Context, name string, d digest.Digest) (opener, bool) {
	if !p.storage.writable || d.Validate() != nil || d.Algorithm() != digest.SHA256 {
		return nil, false
	}
	if _, err := p.storage.Stat(ctx, repositoryPath(name)+layerPath(d)); err != nil {
		return nil, false
	}
	if held, ok := p.catalog.blobs[d]; ok {
		return held.open, true
	}
	file := p.storage.file(dataPath(d))
	if _, err := os.Stat(file); err != nil {
		return nil, false
	}
	return func() (io.ReadSeekCloser, error) { return openWhole(file, d, p.log) }, true
}
