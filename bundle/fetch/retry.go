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

	"airgap.dev/airgap/internal/httpclient"
)

// errStalled cancels a connection on which nothing arrives any more.
var errStalled = errors.New("server stopped sending")

// statusError is an answer other than the one asked for.
type statusError struct {
	url    string
	status int
}

func (e *statusError) Error() string {
	text := fmt.Sprintf("GET %s: %d %s", e.url, e.status, http.StatusText(e.status))
	if e.status == http.StatusUnauthorized || e.status == http.StatusForbidden {
		text += "; " + whoAsks
	}
	return text
}

// whoAsks is where to say it, for a server that wants to know.
const whoAsks = "login, in packages.repositories or in sources.rewrite, says who asks"

// Is makes a file that is not there fs.ErrNotExist.
func (e *statusError) Is(target error) bool {
	return target == fs.ErrNotExist && (e.status == http.StatusNotFound || e.status == http.StatusGone)
}

// retry runs do until it succeeds, its error will not go away, or patience
// ends.
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

// isPassing tells trouble on the way, which may be gone at the next attempt,
// from an answer, which will be the same.
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
	case refusedUs(err):
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

// refusedUs reports whether the server has ended the handshake of TLS, for one
// because it wants a client certificate. crypto/tls has no type of its own for that.
func refusedUs(err error) bool {
	var e *net.OpError
	return errors.As(err, &e) && e.Op == "remote error"
}

// IsPassingStatus reports whether a server may answer otherwise a moment later.
func IsPassingStatus(code int) bool {
	return code >= 500 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout
}
