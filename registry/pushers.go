package registry

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"airgap.dev/airgap/internal/listen"
)

const (
	tokenPath = "/token"
	// tokenLife is the lifetime of a token.
	tokenLife = 5 * time.Minute
	// anonymous is the token of all clients without credentials. A read requires no token, but clients
	// that got a challenge need one.
	anonymous = "anonymous"
	// maxHashings is the number of passwords that are compared at a time. bcrypt takes a CPU for a
	// good part of a second, any client can log in, and the host also runs an API server.
	maxHashings = 1
	// loginTimeout is how long a login waits in the queue.
	loginTimeout = time.Minute
)

// pushers are the users who may push: the users of an htpasswd file with bcrypt hashes. They send their
// password, or a token that they got for it. A read needs neither.
//
// Clients query /v2/ to find out whether to log in. Bearer tokens are the only scheme with which the
// same client can also read without credentials; see distribution's token specification.
type pushers struct {
	file    string
	hashing *loginQueue

	mu     sync.Mutex
	tokens map[[sha256.Size]byte]session
}

type session struct {
	user    string
	expires time.Time
}

func newPushers(file string) *pushers {
	return &pushers{file: file, hashing: newLoginQueue(), tokens: map[[sha256.Size]byte]session{}}
}

// hasUsers reports whether there are users who may push. The file can be created while the registry
// runs.
func (p *pushers) hasUsers() bool {
	info, err := os.Stat(p.file) //nolint:gosec // the operator sets the path
	return p.file != "" && err == nil && info.Size() > 0
}

var (
	errCredentials   = errors.New("user or password is wrong, or the token has expired")
	errNoCredentials = errors.New("this request requires a user and a password")
)

// user returns the user of the request, or "" without credentials. The error is errCredentials for
// wrong credentials.
func (p *pushers) user(r *http.Request) (string, error) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	switch {
	case scheme == "":
		return "", nil
	case strings.EqualFold(scheme, "bearer"):
		return p.tokenUser(token)
	}
	return p.login(r)
}

// login compares the password.
func (p *pushers) login(r *http.Request) (string, error) {
	name, password, ok := r.BasicAuth()
	if ok && name == "" && password == "" {
		return "", nil // some clients send this without credentials
	}
	if !ok || !p.hasUsers() {
		return "", errCredentials
	}
	ctx, cancel := context.WithTimeout(r.Context(), loginTimeout)
	defer cancel()
	if err := p.hashing.acquire(ctx, listen.Source(r.RemoteAddr)); err != nil {
		return "", errors.Join(errBusy, err)
	}
	defer p.hashing.release()
	if err := (Users{File: p.file}).check(name, password); err != nil {
		return "", err
	}
	return name, nil
}

// tokenUser returns the user of the token.
func (p *pushers) tokenUser(token string) (string, error) {
	if token == anonymous {
		return "", nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.tokens[sha256.Sum256([]byte(token))]
	if !ok || time.Now().After(s.expires) {
		return "", errCredentials
	}
	return s.user, nil
}

// issue returns a new token for the user, and deletes expired tokens.
func (p *pushers) issue(user string) string {
	token, now := rand.Text(), time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for sum, s := range p.tokens {
		if now.After(s.expires) {
			delete(p.tokens, sum)
		}
	}
	p.tokens[sha256.Sum256([]byte(token))] = session{user, now.Add(tokenLife)}
	return token
}

// ServeHTTP handles tokenPath.
func (p *pushers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		writeError(w, http.StatusMethodNotAllowed, "UNSUPPORTED", "request a token with GET")
		return
	}
	if r.ContentLength != 0 { // only complete requests may wait in the queue
		w.Header().Set("Connection", "close")
		writeError(w, http.StatusBadRequest, "UNSUPPORTED", "a request for a token has no body")
		return
	}
	user, err := p.user(r)
	if scheme, _, _ := strings.Cut(r.Header.Get("Authorization"), " "); user != "" && strings.EqualFold(scheme, "bearer") {
		err = errCredentials // a token gives no new token, because it would then never expire
	}
	if err != nil {
		w.Header().Set("WWW-Authenticate", `Basic realm="airgap"`)
		refuse(w, err)
		return
	}
	token := anonymous
	if user != "" {
		token = p.issue(user)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(map[string]any{ // the client may have closed the connection
		"token": token, "access_token": token, "expires_in": int(tokenLife.Seconds()), "issued_at": time.Now().UTC().Format(time.RFC3339),
	})
}

// challenge sends the client the URL and the scope of tokens.
func challenge(w http.ResponseWriter, r *http.Request, scope string) {
	value := fmt.Sprintf("Bearer realm=%q,service=%q", "https://"+r.Host+tokenPath, r.Host)
	if scope != "" {
		value += fmt.Sprintf(",scope=%q", scope)
	}
	w.Header().Set("WWW-Authenticate", value)
}

// refuse answers 401 for wrong credentials, 429 if too many logins wait, and 500 if the credentials
// could not be checked.
func refuse(w http.ResponseWriter, err error) {
	if errors.Is(err, errBusy) {
		w.Header().Set("Retry-After", "5")
		writeError(w, http.StatusTooManyRequests, "TOOMANYREQUESTS", errBusy.Error())
		return
	}
	if errors.Is(err, errCredentials) || errors.Is(err, errNoCredentials) {
		writeError(w, http.StatusUnauthorized, "UNAUTHORIZED", err.Error())
		return
	}
	writeError(w, http.StatusInternalServerError, "UNKNOWN", err.Error())
}
