package fetch

import (
	"context"
	"io"
	"net/http"

	"github.com/google/go-containerregistry/pkg/name"

	"airgap.dev/airgap/internal/httpclient"
)

// Probe requests the first byte of the file at an upstream URL, as a download would. Watch sees the hosts
// that its redirects lead to. It does not try again.
func (c *Client) Probe(ctx context.Context, upstream string) error {
	if _, is := localPath(upstream); is {
		return nil
	}
	at, err := c.mirrored(upstream)
	if err != nil {
		return err
	}
	return c.probe(ctx, c.loginFor(upstream), at)
}

// ProbeBlob is Probe for a blob of a repository.
func (c *Client) ProbeBlob(ctx context.Context, repo name.Repository, digest string) error {
	rt, err := c.transportFor(ctx, repo)
	if err != nil {
		return err
	}
	return c.probe(ctx, &login{client: httpclient.New(rt)}, registryURL(repo, "blobs", digest))
}

func (c *Client) probe(ctx context.Context, as *login, at string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.Stall, errStalled)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return presentableError(err)
	}
	if as.user != "" {
		request.SetBasicAuth(as.user, as.password)
	}
	request.Header.Set("Range", "bytes=0-0")
	response, err := as.client.Do(request)
	if err != nil {
		return presentableError(err)
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK, http.StatusPartialContent, http.StatusRequestedRangeNotSatisfiable: // 416: an empty file
		_, _ = io.CopyN(io.Discard, response.Body, 1)
		return nil
	}
	begin, _ := io.ReadAll(io.LimitReader(response.Body, maxTitle))
	from := response.Request.URL.String()
	return &statusError{Presentable(at), response.StatusCode, pageOf(begin), Presentable(from), c.via(from)}
}
