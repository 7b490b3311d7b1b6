package fetch

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/httpclient"
)

// Plain reports whether the client reads an upstream URL, or its mirror, over plain HTTP.
func (c *Client) Plain(upstream string) bool {
	at, err := c.sources.rewriteURL(upstream)
	return err == nil && strings.HasPrefix(strings.ToLower(at), "http://")
}

// PlainError refuses plain HTTP for contents without a digest or a signature.
type PlainError struct{ URL string }

func (e *PlainError) Error() string {
	return fmt.Sprintf("GET %s: airgap reads this content only over https: no digest and no signature shows whether it was changed on the way", e.URL)
}

// Hint is the next step, as package advice prints it.
func (e *PlainError) Hint() string {
	host := e.URL
	if u, err := url.Parse(e.URL); err == nil {
		host = u.Host
	}
	return fmt.Sprintf("use an https address, or map %s to a mirror with https in sources.rewrite; a file that you have checked can be named by its path", host)
}

// scheme is how the mirror of upstream's HOST/PATH is accessed.
func (s Sources) scheme(upstream string) string {
	if i, found := s.rule(upstream); found && s.Rewrite[i].Plain {
		return "http"
	}
	return "https"
}

// refusePlain refuses a mirror with plain HTTP for a repository of images: nothing shows whether the digest
// of a tag was changed on the way, and registries send tokens.
func (s Sources) refusePlain(upstream string) error {
	i, found := s.rule(upstream)
	if !found || !s.Rewrite[i].Plain {
		return nil
	}
	rule := s.Rewrite[i]
	return advice.Add(fmt.Errorf("read from the mirror %s: its rule in sources.rewrite has plainHTTP, and registries are asked by https only", rule.To),
		"give the mirror a certificate, or add a rule to sources.rewrite that maps %s to another registry", hostOf(upstream))
}

func hostOf(upstream string) string {
	host, _, _ := strings.Cut(upstream, "/")
	return host
}

// Strict is a client that reads over plain HTTP only contents that the caller compares with a digest or a
// signature (httpclient.Checked).
type Strict struct{ *Client }

// Open is Client.Open.
func (c Strict) Open(ctx context.Context, url string, offset int64) (io.ReadCloser, int64, error) {
	if err := c.refuse(ctx, url); err != nil {
		return nil, 0, err
	}
	return c.Client.Open(ctx, url, offset)
}

// OpenFile is Client.OpenFile.
func (c Strict) OpenFile(ctx context.Context, url string, part Extent) (io.ReadCloser, error) {
	if err := c.refuse(ctx, url); err != nil {
		return nil, err
	}
	return c.Client.OpenFile(ctx, url, part)
}

// ReadTyped is Client.ReadTyped.
func (c Strict) ReadTyped(ctx context.Context, url string, limit int64) (text []byte, mediaType string, err error) {
	if err := c.refuse(ctx, url); err != nil {
		return nil, "", err
	}
	return c.Client.ReadTyped(ctx, url, limit)
}

func (c Strict) refuse(ctx context.Context, url string) error {
	if httpclient.IsChecked(ctx) || !c.Plain(url) {
		return nil
	}
	return &PlainError{Presentable(url)}
}
