package fetch

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/internal/httpclient"
)

// errStalled cancels a connection that no longer receives bytes.
var errStalled = errors.New("server stopped sending")

// silentError cancels a request without the beginning of an answer.
type silentError struct {
	after   time.Duration
	setting string
}

func (e *silentError) Error() string {
	return fmt.Sprintf("no answer within %s: if a proxy scans files or a mirror loads them first, set a longer sources.timeouts.%s", e.after, e.setting)
}

// Timeout and Temporary implement net.Error.
func (e *silentError) Timeout() bool   { return true }
func (e *silentError) Temporary() bool { return true }

// statusError is an unexpected HTTP status.
type statusError struct {
	url    string
	status int
	page   *webPage // HTML page in the answer; nil without one
	at     string   // address that answered, after redirects
	via    string   // its proxy; "" for none
}

// blocked returns the page of a proxy; nil for other answers.
func (e *statusError) blocked() *blocked {
	if e.page == nil || !isBlock(e.status) {
		return nil
	}
	return &blocked{e.status, e.page, e.at, e.via}
}

// short is the status with the title of its page.
func (e *statusError) short() string {
	if e.page != nil {
		return fmt.Sprintf("%s with %v", statusText(e.status), e.page)
	}
	return statusText(e.status)
}

func (e *statusError) Error() string {
	if b := e.blocked(); b != nil {
		return fmt.Sprintf("GET %s: %s", e.url, b.text("the file", loginSettings))
	}
	text := fmt.Sprintf("GET %s: %s", e.url, e.short())
	if isLogin(e.status) {
		text += "; " + loginSettings
	}
	return text
}

// loginSettings names the settings for a server that requires a login.
const loginSettings = "set login in packages.repositories or in sources.rewrite"

// Is makes a missing file equal to fs.ErrNotExist, and a forbidden one to rpm.ErrForbidden. With a page, it is equal to
// rpm.ErrPage, too.
func (e *statusError) Is(target error) bool {
	switch target {
	case rpm.ErrForbidden:
		return e.status == http.StatusForbidden
	case rpm.ErrPage:
		return e.page != nil
	}
	return target == fs.ErrNotExist && (e.status == http.StatusNotFound || e.status == http.StatusGone)
}

// retry runs do until it succeeds, the error is permanent, or the attempts are used up. It waits as long as a server
// demands.
func (p Patience) retry(ctx context.Context, do func(context.Context) error) error {
	for attempt := 1; ; attempt++ {
		trying, demand := demanding(ctx)
		err := do(trying)
		if err == nil || ctx.Err() != nil || attempt >= min(p.Attempts, tries(err)) || !isPassing(err) {
			return err
		}
		pause, most := time.Duration(demand.pause.Load()), cmp.Or(p.MaxPause, defaultMaxPause)
		if pause > most {
			return &demandError{pause, most, err}
		}
		if wait(ctx, jitter(max(pause, p.Pause<<(attempt-1)))) != nil {
			return err
		}
	}
}

// tries limits the attempts of slow failures, and of those that are temporary only for a CDN.
func tries(err error) int {
	var silent *silentError
	var status *statusError
	var dial *net.OpError
	switch {
	case errors.As(err, &silent):
		return 3
	case errors.As(err, &status) && status.status == http.StatusForbidden:
		return 2
	case errors.As(err, &dial) && dial.Op == "dial" && dial.Timeout():
		return 2
	}
	return 1 << 30
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// isPassing reports whether an error is temporary, so that another attempt can succeed. A time-out is: only the
// context of the caller, which retry checks, ends the attempts.
func isPassing(err error) bool {
	var answer *transport.Error
	var status *statusError
	var untrusted *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var lookup *net.DNSError
	var policy *httpclient.RefusedError
	var realm *httpclient.RealmError
	var proxy *httpclient.ProxyError
	var page *pageError
	var web *webPage
	var oversized *oversizedError
	var changed *changedError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &policy), errors.As(err, &realm), errors.As(err, &page), errors.As(err, &web), errors.As(err, &oversized), errors.As(err, &changed), errors.As(err, &syntax):
		return false
	case errors.As(err, &proxy):
		return proxy.Temporary() && !errors.As(err, &untrusted)
	case handshakeRefused(err):
		return false
	case errors.As(err, &answer):
		return IsPassingStatus(answer.StatusCode)
	case errors.As(err, &status):
		return IsPassingStatus(status.status) || status.status == http.StatusForbidden
	case errors.As(err, &untrusted), errors.As(err, &unknown), errors.Is(err, http.ErrSchemeMismatch):
		return false
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return false
	default:
		return !errors.Is(err, context.Canceled)
	}
}

// handshakeRefused reports whether the server ended the TLS handshake, for example because it
// requires a client certificate. crypto/tls has no error type for that.
func handshakeRefused(err error) bool {
	var e *net.OpError
	return errors.As(err, &e) && e.Op == "remote error"
}

// IsPassingStatus reports whether a status is temporary.
func IsPassingStatus(code int) bool {
	return code >= 500 && code != http.StatusNotImplemented || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout
}
