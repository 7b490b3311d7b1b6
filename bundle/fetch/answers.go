package fetch

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"airgap.dev/airgap/internal/httpclient"
	"airgap.dev/airgap/internal/loginfile"
	"airgap.dev/airgap/internal/ui"
)

// answerError explains the answer of a registry or a failed connection, with the next
// step. The text includes the registry's own message.
type answerError struct {
	text string
	err  error
}

func (e *answerError) Error() string { return e.text }
func (e *answerError) Unwrap() error { return e.err }

// access describes how the client reaches a repository.
type access struct {
	mirror bool   // sources.rewrite replaces the upstream repository with it
	login  string // origin of the credentials; "" for anonymous
}

// Explain turns an error of a registry into an answerError. It returns other errors unchanged.
func (c *Client) Explain(ctx context.Context, ref name.Reference, err error) error {
	if err == nil {
		return nil
	}
	if known := (*answerError)(nil); errors.As(err, &known) {
		return err
	}
	if text := c.meaning(ctx, ref, err); text != "" {
		return &answerError{text, err}
	}
	return err
}

func (c *Client) meaning(ctx context.Context, ref name.Reference, err error) string {
	var answer *transport.Error
	var status *statusError
	var page *webPage
	var syntax *json.SyntaxError
	var silent *silentError
	host := ref.Context().RegistryStr()
	switch {
	case errors.As(err, &silent):
		return fmt.Sprintf("%s%s: %v", host, throughProxy(c.proxies, host), silent)
	case errors.As(err, &page):
		return fmt.Sprintf("%s: a proxy or login page answered, with %s instead of a manifest%s: %s", host, page, throughProxy(c.proxies, host), afterPage)
	case errors.As(err, &answer):
		if b := blockedRegistry(answer, c.via); b != nil {
			return meaningOfPage(ref, b)
		}
		return c.meaningOf(ctx, ref, answer.StatusCode, said(answer))
	case errors.As(err, &status):
		if b := status.blocked(); b != nil {
			return meaningOfPage(ref, b)
		}
		return c.meaningOf(ctx, ref, status.status, status.short())
	case errors.As(err, &syntax):
		return fmt.Sprintf("the token server of %s did not return a token; a proxy or a login page may have answered (%v): %s", host, err, afterPage)
	}
	return unreachable(host, err)
}

const afterPage = "open that address in a browser on this host, or set another proxy or a mirror in sources.proxy or sources.rewrite of airgap.yaml"

// meaningOf explains an HTTP status other than 200.
func (c *Client) meaningOf(ctx context.Context, ref name.Reference, status int, said string) string {
	host := ref.Context().RegistryStr()
	switch status {
	case http.StatusNotFound:
		return fmt.Sprintf("does not exist in %s: %s (response: %s)", host, c.whatExists(ctx, ref), said)
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Sprintf("%s %s (response: %s)", host, c.loginAdvice(ref.Context()), said)
	case http.StatusTooManyRequests:
		return fmt.Sprintf("%s limits the pulls of this host (response: %s): wait, then run the same command again, which continues; to get a higher limit, log in (%s) or set a mirror in sources.rewrite",
			host, said, loginCommand(ref.Context()))
	}
	if status >= 500 {
		return fmt.Sprintf("%s has a server error (response: %s): run the same command again later", host, said)
	}
	return fmt.Sprintf("%s refuses the request (response: %s)", host, said)
}

func (c *Client) loginAdvice(repo name.Repository) string {
	how := c.accessOf(repo)
	switch {
	case how.login != "":
		return fmt.Sprintf("refuses the login from %s: the login has expired, its user must not pull the image, or the image does not exist; log in again with %s", how.login, loginCommand(repo))
	case how.mirror:
		return fmt.Sprintf("requires a login, or the image does not exist: this registry is a mirror, so set a login with a user name in its rule (sources.rewrite of airgap.yaml), or run %s", loginCommand(repo))
	}
	return fmt.Sprintf("requires a login, or the image does not exist: compare the name with the publisher's; for a private image, run %s on this host", loginCommand(repo))
}

func loginCommand(repo name.Repository) string {
	host := repo.RegistryStr()
	if host == name.DefaultRegistry {
		host = "docker.io"
	}
	return "podman login " + host
}

func (c *Client) accessOf(repo name.Repository) access {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.accesses[repo.Name()]
}

// noteAccess records the source of the credentials auth; mirrors are the credentials of
// sources.rewrite.
func (c *Client) noteAccess(repo name.Repository, auth, mirrors authn.Authenticator) {
	c.mu.Lock()
	defer c.mu.Unlock()
	how := c.accesses[repo.Name()]
	switch auth {
	case authn.Anonymous:
		how.login = ""
	case mirrors:
		how.login = "airgap.yaml"
	default:
		how.login = loginfile.Origin(auth)
	}
	c.accesses[repo.Name()] = how
}

// whatExists distinguishes a missing repository from a missing tag, and lists similar tags.
func (c *Client) whatExists(ctx context.Context, ref name.Reference) string {
	repo := ref.Context()
	what := "compare the name and the tag with the publisher's"
	if c.accessOf(repo).mirror {
		what += "; a mirror (sources.rewrite) can have fewer images than its upstream"
	}
	tags, err := c.tags(ctx, repo)
	switch {
	case err != nil && notFound(err):
		return fmt.Sprintf("the registry has no repository %s; %s", repo.RepositoryStr(), what)
	case err != nil || len(tags) == 0:
		return what
	}
	if _, byTag := ref.(name.Tag); !byTag {
		return "the repository exists, but has nothing with this digest: publishers delete old versions; choose another version"
	}
	return fmt.Sprintf("the repository exists, but has no tag %s; similar tags: %s", ref.Identifier(), ui.And(nearest(tags, ref.Identifier())))
}

// nearest returns up to 5 of the tags that share the longest prefix with the wanted tag.
func nearest(tags []string, to string) []string {
	const most = 5
	for n := len(to); n >= 0; n-- {
		var alike []string
		for _, t := range tags {
			if strings.HasPrefix(t, to[:n]) {
				alike = append(alike, fmt.Sprintf("%.128s", t))
			}
		}
		if len(alike) > 0 {
			return alike[max(0, len(alike)-most):]
		}
	}
	return nil
}

func notFound(err error) bool {
	var answer *transport.Error
	return errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound
}

// tags lists the first 1000 tags of a repository, without retries.
func (c *Client) tags(ctx context.Context, repo name.Repository) ([]string, error) {
	rt, err := c.transportFor(ctx, repo)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.Stall, errStalled)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s://%s/v2/%s/tags/list?n=1000", repo.Scheme(), repo.RegistryStr(), repo.RepositoryStr()), nil)
	if err != nil {
		return nil, err
	}
	response, err := httpclient.New(rt).Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if err := transport.CheckError(response, http.StatusOK); err != nil {
		return nil, err
	}
	var list struct {
		Tags []string `json:"tags"`
	}
	text, err := httpclient.ReadAll(response.Body, 1<<20)
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	return list.Tags, err
}

// unreachable explains a failed connection; it returns "" if the error needs no explanation.
func unreachable(host string, err error) string {
	var untrusted *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var record tls.RecordHeaderError
	var lookup *net.DNSError
	var dial *net.OpError
	var proxy *httpclient.ProxyError
	switch {
	case errors.As(err, &proxy) && proxy.Err != nil && errors.As(proxy.Err, &untrusted):
		return fmt.Sprintf("this host does not trust the certificate of the proxy %s%s (%v): set its CA in sources.ca of airgap.yaml", proxy.Proxy, issuedBy(untrusted), untrusted)
	case errors.As(err, &proxy):
		return fmt.Sprintf("%v: %s", proxy, proxy.Hint())
	case errors.As(err, &untrusted), errors.As(err, &unknown):
		return fmt.Sprintf("this host does not trust the certificate of %s%s (%v): if a proxy intercepts TLS connections, or a mirror has its own CA, set that CA in sources.ca of airgap.yaml", host, issuedBy(untrusted), err)
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Sprintf("%s does not speak TLS (%v): registries are asked by https only; check the port", host, err)
	case errors.As(err, &lookup):
		return fmt.Sprintf("this host cannot resolve %s (%v): check the name and DNS; behind a proxy, set sources.proxy of airgap.yaml or HTTPS_PROXY; for a mirror, set sources.rewrite", host, err)
	case errors.As(err, &dial) && dial.Op == "dial":
		return fmt.Sprintf("this host cannot connect to %s (%v): behind a proxy, set sources.proxy of airgap.yaml or HTTPS_PROXY; for a mirror, set sources.rewrite", host, err)
	}
	return ""
}

// throughProxy names the proxy of a registry, for a message.
func throughProxy(proxies *httpclient.Proxies, host string) string {
	if via := proxyOf(proxies, "https://"+host+"/"); via != "" {
		return " through the proxy " + via
	}
	return ""
}

func issuedBy(untrusted *tls.CertificateVerificationError) string {
	if untrusted == nil || len(untrusted.UnverifiedCertificates) == 0 {
		return ""
	}
	return fmt.Sprintf(", issued by %.200q", untrusted.UnverifiedCertificates[0].Issuer.String())
}

// said returns the status and the registry's own message in one short line.
func said(answer *transport.Error) string {
	status := statusText(answer.StatusCode)
	if len(answer.Errors) > 0 {
		d := answer.Errors[0]
		return fmt.Sprintf("%s, %.60s: %s", status, d.Code, oneLine(d.Message))
	}
	text := bodyOf(answer)
	if isWebPage("", []byte(text)) {
		return status + " with " + newWebPage([]byte(text)).Error()
	}
	if text = oneLine(text); text != "" {
		return status + ": " + text
	}
	return status
}

// bodyOf is the body of an answer without errors of the registry. Only the text of the error has it.
func bodyOf(answer *transport.Error) string {
	_, text, _ := strings.Cut(answer.Error(), statusText(answer.StatusCode))
	return strings.TrimPrefix(text, ": ")
}

func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 300 {
		return strings.ToValidUTF8(s[:300], "") + "…"
	}
	return s
}

// webPage is an HTML page in place of a manifest or a blob.
type webPage struct{ title string }

func newWebPage(page []byte) *webPage { return &webPage{httpclient.TitleOf(page)} }

func (e *webPage) Error() string {
	if e.title != "" {
		return fmt.Sprintf("the web page %q", e.title)
	}
	return "a web page"
}

// isWebPage checks the first bytes, because some registries send manifests as
// text/html.
func isWebPage(contentType string, body []byte) bool {
	begin := bytes.TrimSpace(body[:min(len(body), sniffed)])
	return isHTML(begin) || bytes.HasPrefix(begin, []byte("<")) && strings.HasPrefix(contentType, "text/html")
}

// PageIn explains, for the end of an error message, that the bytes are an HTML page; ""
// for other bytes.
func PageIn(raw []byte) string {
	if !isWebPage("", raw) {
		return ""
	}
	return fmt.Sprintf(": the content is %v; a proxy or a login page answered, %s", newWebPage(raw), afterPage)
}
