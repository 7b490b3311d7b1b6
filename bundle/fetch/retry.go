package fetch

import (
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

// statusError is an unexpected HTTP status.
type statusError struct {
	url    string
	status int
}

func (e *statusError) Error() string {
	text := fmt.Sprintf("GET %s: %d %s", e.url, e.status, http.StatusText(e.status))
	if e.status == http.StatusUnauthorized || e.status == http.StatusForbidden {
		text += "; " + loginSettings
	}
	return text
}

// loginSettings names the settings for a server that requires a login.
const loginSettings = "set login in packages.repositories or in sources.rewrite"

// Is makes a missing file equal to fs.ErrNotExist, and a forbidden one to rpm.ErrForbidden.
func (e *statusError) Is(target error) bool {
	if target == rpm.ErrForbidden {
		return e.status == http.StatusForbidden
	}
	return target == fs.ErrNotExist && (e.status == http.StatusNotFound || e.status == http.StatusGone)
}

// retry runs do until it succeeds, the error is permanent, or the attempts are used up.
func (p Patience) retry(ctx context.Context, do func() error) error {
	for attempt := 1; ; attempt++ {
		err := do()
		if err == nil || attempt == p.Attempts || ctx.Err() != nil || !isPassing(err) {
			return err
		}
		if wait(ctx, p.Pause<<(attempt-1)) != nil {
			return err
		}
	}
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

// isPassing reports whether an error is temporary, so that another attempt can succeed.
func isPassing(err error) bool {
	var answer *transport.Error
	var status *statusError
	var untrusted *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var lookup *net.DNSError
	var policy *httpclient.RefusedError
	var realm *httpclient.RealmError
	var page *pageError
	var web *webPage
	var oversized *oversizedError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &policy), errors.As(err, &realm), errors.As(err, &page), errors.As(err, &web), errors.As(err, &oversized), errors.As(err, &syntax):
		return false
	case handshakeRefused(err):
		return false
	case errors.As(err, &answer):
		return IsPassingStatus(answer.StatusCode)
	case errors.As(err, &status):
		return IsPassingStatus(status.status)
	case errors.As(err, &untrusted), errors.As(err, &unknown):
		return false
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return false
	default:
		return !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errStalled)
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
	return code >= 500 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout
}
