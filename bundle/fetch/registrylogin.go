package fetch

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"airgap.dev/airgap/internal/httpclient"
)

// registryScheme begins the URL of a chart repository in a registry.
const registryScheme = "oci://"

// OnWarning sets the receiver of warnings: a credential helper that is missing. It must be called before
// the first request.
func (c *Client) OnWarning(warn func(string)) { c.files.Warn = warn }

// loginOf returns the login in airgap.yaml for upstream's HOST/PATH: of its oci:// URL, else of its mirror;
// nil without one.
func (c *Client) loginOf(upstream string) *login {
	var best *login
	for _, l := range c.logins {
		below, is := strings.CutPrefix(l.below, registryScheme)
		if is && strings.HasPrefix(upstream+"/", below) && (best == nil || len(l.below) > len(best.below)) {
			best = l
		}
	}
	if best != nil {
		return best
	}
	return c.mirrorOf(upstream)
}

// purposeOf is the purpose of a request. The token of a registry is requested for it, too.
func purposeOf(r *http.Request) string { return httpclient.Purpose(r.Context()) }

type siteKey struct{}

// WithLoginOf makes requests in ctx use the login of a repository also for other paths of the same origin:
// an index may lead there, as those of Artifactory do. Other origins get no login.
func WithLoginOf(ctx context.Context, repository string) context.Context {
	return context.WithValue(ctx, siteKey{}, repository)
}

// loginIn is loginFor with the login of WithLoginOf where there is no other one.
func (c *Client) loginIn(ctx context.Context, upstream string) *login {
	own := c.loginFor(upstream)
	repository, is := ctx.Value(siteKey{}).(string)
	if !is || own.below != "" {
		return own
	}
	at, errAt := url.Parse(upstream)
	above, errAbove := url.Parse(repository)
	if errAt != nil || errAbove != nil || strings.Contains(at.Path, "/../") || httpclient.Origin(at) != httpclient.Origin(above) {
		return own
	}
	if of := c.loginFor(repository); strings.Contains(of.below, "://") { // not the login of a mirror
		return of
	}
	return own
}
