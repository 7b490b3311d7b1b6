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

	"github.com/distribution/distribution/v3/registry/auth"
	_ "github.com/distribution/distribution/v3/registry/auth/htpasswd" // the one kind of users

	"airgap.dev/airgap/internal/listen"
)

const (
	tokenPath = "/token"
	// tokenLife is how long a token is good, and how long a removed user goes on.
	tokenLife = 5 * time.Minute
	// anonymous is everybody's token: reading needs none, but clients that were
	// challenged want one.
	anonymous = "anonymous"
	// hashings is how many passwords are compared at a time: bcrypt takes a
	// processor for a good part of a second, anybody may ask, and the host has an
	// API server to run.
	hashings = 1
	// loginTimeout is how long a login waits for its turn.
	loginTimeout = time.Minute
)

// pushers are the users who may push: those of an htpasswd file with bcrypt
// hashes. They show their password, or a token they got for it. Reading needs
// neither.
//
// Clients learn from /v2/ whether to log in at all, and a bearer token is the one
// scheme with which the same client may also read without credentials; see
// distribution's token specification.
type pushers struct {
	file    string
	hashing *turns

	mu     sync.Mutex
	users  auth.AccessController
	tokens map[[sha256.Size]byte]session
}

type session struct {
	user  string
	until time.Time
}

func newPushers(file string) *pushers {
	return &pushers{file: file, hashing: newTurns(), tokens: map[[sha256.Size]byte]session{}}
}

// any reports whether somebody may push. The file may come while the registry
// runs.
func (p *pushers) any() bool {
	info, err := os.Stat(p.file) //nolint:gosec // the operator names it
	return p.file != "" && err == nil && info.Size() > 0
}

var (
	errCredentials   = errors.New("user or password is wrong, or the token is old")
	errNoCredentials = errors.New("this takes a user's password")
)

// user is who sends the request; "" without credentials. The error is
// errCredentials for wrong ones.
func (p *pushers) user(r *http.Request) (string, error) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	switch {
	case scheme == "":
		return "", nil
	case strings.EqualFold(scheme, "bearer"):
		return p.holder(token)
	}
	return p.login(r)
}

// login compares the password.
func (p *pushers) login(r *http.Request) (string, error) {
	name, password, ok := r.BasicAuth()
	if ok && name == "" && password == "" {
		return "", nil // how some clients say that they have none
	}
	if !ok || !p.any() {
		return "", errCredentials
	}
	users, err := p.controller()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(r.Context(), loginTimeout)
	defer cancel()
	if err := p.hashing.take(ctx, listen.Source(r.RemoteAddr)); err != nil {
		return "", errors.Join(errBusy, err)
	}
	defer p.hashing.give()
	grant, err := users.Authorized(r)
	if refused := auth.Challenge(nil); errors.As(err, &refused) {
		return "", errCredentials
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", p.file, err)
	}
	return grant.User.Name, nil
}

// controller is made once there is a file: the engine's would write one with a
// user of its own.
func (p *pushers) controller() (auth.AccessController, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.users == nil {
		users, err := auth.GetAccessController("htpasswd", map[string]any{"realm": "airgap", "path": p.file})
		if err != nil {
			return nil, fmt.Errorf("read users of the registry: %w", err)
		}
		p.users = users
	}
	return p.users, nil
}

// holder is whom the token was given to.
func (p *pushers) holder(token string) (string, error) {
	if token == anonymous {
		return "", nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.tokens[sha256.Sum256([]byte(token))]
	if !ok || time.Now().After(s.until) {
		return "", errCredentials
	}
	return s.user, nil
}

// issue gives the user a token, and forgets those that ended.
func (p *pushers) issue(user string) string {
	token, now := rand.Text(), time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for sum, s := range p.tokens {
		if now.After(s.until) {
			delete(p.tokens, sum)
		}
	}
	p.tokens[sha256.Sum256([]byte(token))] = session{user, now.Add(tokenLife)}
	return token
}

// ServeHTTP answers tokenPath.
func (p *pushers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		writeError(w, http.StatusMethodNotAllowed, "UNSUPPORTED", "tokens are given to GET")
		return
	}
	if r.ContentLength != 0 { // a turn is for requests that are complete
		w.Header().Set("Connection", "close")
		writeError(w, http.StatusBadRequest, "UNSUPPORTED", "a request for a token has no body")
		return
	}
	user, err := p.user(r)
	if scheme, _, _ := strings.Cut(r.Header.Get("Authorization"), " "); user != "" && strings.EqualFold(scheme, "bearer") {
		err = errCredentials // a token buys no other: it would never end
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
	_ = json.NewEncoder(w).Encode(map[string]any{ // as in health
		"token": token, "access_token": token, "expires_in": int(tokenLife.Seconds()), "issued_at": time.Now().UTC().Format(time.RFC3339),
	})
}

// challenge tells the client where tokens are to be had, and for what.
func challenge(w http.ResponseWriter, r *http.Request, scope string) {
	value := fmt.Sprintf("Bearer realm=%q,service=%q", "https://"+r.Host+tokenPath, r.Host)
	if scope != "" {
		value += fmt.Sprintf(",scope=%q", scope)
	}
	w.Header().Set("WWW-Authenticate", value)
}

// refuse says 401 for wrong credentials, 429 where too many are to be judged, and 500 where
// they could not be.
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
