package fetch

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// blocked is an HTML page with an error status. A proxy that decrypts TLS sends it in the place of the server. Some
// servers send such pages themselves.
type blocked struct {
	status int
	page   *webPage
	allow  string // address for the operator of the proxy
	via    string // proxy of the address; "" for none
}

// isBlock reports whether a page with this status is unusual for a server: many have pages for missing files and for
// limits of requests.
func isBlock(status int) bool {
	return status >= http.StatusBadRequest && !slices.Contains([]int{http.StatusNotFound, http.StatusGone, http.StatusTooManyRequests}, status)
}

// text says who answered and what to do next. instead is what the page replaces, login the step if the server itself
// requires a login.
func (b *blocked) text(instead, login string) string {
	through, operator := "", "the proxy or web filter of this network"
	if b.via != "" {
		through, operator = " through the proxy "+b.via, "this proxy"
	}
	text := fmt.Sprintf("a proxy or login page answered%s (%s with %v), not %s: ask the operator of %s to allow %s, or set another proxy or a mirror in sources.proxy or sources.rewrite of airgap.yaml",
		through, statusText(b.status), b.page, instead, operator, b.allow)
	switch {
	case isLogin(b.status):
		text += "; if the server itself sent the page, " + login
	case b.status >= http.StatusInternalServerError:
		text += "; if the server itself sent the page, run the same command again later"
	}
	return text
}

func statusText(status int) string { return fmt.Sprintf("%d %s", status, http.StatusText(status)) }

func isLogin(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}

// blockedRegistry returns the page in the answer of a registry or of its token server; nil if it has none.
func blockedRegistry(answer *transport.Error, via func(url string) string) *blocked {
	text := []byte(bodyOf(answer))
	if !isBlock(answer.StatusCode) || answer.Request == nil || !isWebPage("", text) {
		return nil
	}
	at := answer.Request.URL
	return &blocked{answer.StatusCode, newWebPage(text), at.Scheme + "://" + at.Host, via(at.String())}
}

// meaningOfPage explains a page in the place of a registry.
func meaningOfPage(ref name.Reference, b *blocked) string {
	return ref.Context().RegistryStr() + ": " + b.text("the registry", "log in with "+loginCommand(ref.Context()))
}

// IsPage reports whether an error is about an HTML page in the place of an answer of the server.
func IsPage(err error) bool {
	var web *webPage
	var page *pageError
	var status *statusError
	var answer *transport.Error
	switch {
	case errors.As(err, &web), errors.As(err, &page):
		return true
	case errors.As(err, &status):
		return status.blocked() != nil
	}
	return errors.As(err, &answer) && isBlock(answer.StatusCode) && isWebPage("", []byte(bodyOf(answer)))
}
