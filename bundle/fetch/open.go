package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"

	"github.com/google/go-containerregistry/pkg/name"

	"airgap.dev/airgap/internal/httpclient"
)

// Extent is the part of a file to read: from Offset to its end.
type Extent struct {
	Offset int64
	Size   int64 // expected size of the whole file, for servers that do not report it; -1: unknown
}

// All is a whole file of unknown size.
func All() Extent { return Extent{Size: -1} }

// Open reads an upstream URL, rewritten to its mirror, from offset on. It returns the
// size of the whole file in bytes, -1 if the server does not report it. The reader
// resumes after a broken connection.
func (c *Client) Open(ctx context.Context, url string, offset int64) (io.ReadCloser, int64, error) {
	if path, is := localPath(url); is {
		return openLocal(path, offset)
	}
	d, err := c.openURL(ctx, url, Extent{offset, -1}, c.answerTime())
	if err != nil {
		return nil, 0, err
	}
	return d, d.size, nil
}

// OpenFile is Open for a file of the bundle, which a proxy may scan before it sends the first byte.
func (c *Client) OpenFile(ctx context.Context, url string, part Extent) (io.ReadCloser, error) {
	body, _, err := c.openFile(ctx, url, part)
	return body, err
}

// openFile returns the size, too; -1 if the server does not report it.
func (c *Client) openFile(ctx context.Context, url string, part Extent) (io.ReadCloser, int64, error) {
	if path, is := localPath(url); is {
		return openLocal(path, part.Offset)
	}
	d, err := c.openURL(ctx, url, part, c.contentTime())
	if err != nil {
		return nil, 0, err
	}
	return d, d.size, nil
}

func (c *Client) openURL(ctx context.Context, url string, part Extent, begins *silentError) (*download, error) {
	mirror, err := c.mirrored(url)
	if err != nil {
		return nil, err
	}
	d, err := c.download(ctx, c.loginIn(ctx, url), mirror, part, begins)
	if err != nil {
		return nil, c.explainFile(mirror, err)
	}
	return d, nil
}

// explainFile explains a failed connection to a web server as Explain does for registries.
func (c *Client) explainFile(at string, err error) error {
	u, parseErr := url.Parse(at)
	if parseErr != nil || errors.As(err, new(*answerError)) {
		return err
	}
	if text := unreachable(u.Host, err); text != "" {
		return &answerError{fmt.Sprintf("GET %s: %s", Presentable(at), text), err}
	}
	return err
}

// ReadTyped reads an upstream URL of at most limit bytes, and returns the media type
// from the server.
func (c *Client) ReadTyped(ctx context.Context, url string, limit int64) (text []byte, mediaType string, err error) {
	body, err := c.openURL(ctx, url, All(), c.answerTime())
	if err != nil {
		return nil, "", err
	}
	defer body.Close()
	text, err = ReadBody(body, Presentable(url), limit)
	return text, body.mediaType, err
}

// ReadBody reads the whole body, of at most limit bytes. Its errors contain name.
func ReadBody(body io.Reader, name string, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(body, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(text)) > limit {
		return nil, fmt.Errorf("%s is longer than %d bytes", name, limit)
	}
	return text, nil
}

// mirrored returns the URL of the mirror for an upstream URL, else the same URL.
func (c *Client) mirrored(url string) (string, error) {
	mirror, err := c.sources.rewriteURL(url)
	if err != nil {
		return "", fmt.Errorf("open %s: %w", Presentable(url), presentableError(err))
	}
	return mirror, nil
}

// OpenBlob reads a blob of a repository.
func (c *Client) OpenBlob(ctx context.Context, repo name.Repository, digest string, part Extent) (io.ReadCloser, error) {
	var rt *login
	err := c.retry(ctx, func(ctx context.Context) error {
		made, err := c.transportFor(ctx, repo)
		rt = &login{client: httpclient.New(made)}
		return err
	})
	if err != nil {
		return nil, err
	}
	d, err := c.download(ctx, rt, registryURL(repo, "blobs", digest), part, c.contentTime())
	if err != nil {
		return nil, err
	}
	return d, nil
}

// registryURL is always https: the library takes a private address for one without TLS.
func registryURL(repo name.Repository, kind, id string) string {
	return fmt.Sprintf("https://%s/v2/%s/%s/%s", repo.RegistryStr(), repo.RepositoryStr(), kind, id)
}

// Size requests the size of the file at an upstream URL, in bytes. If the server does not report it, it counts the
// bytes.
func (c *Client) Size(ctx context.Context, url string) (int64, error) {
	body, size, err := c.openFile(ctx, url, All())
	if err != nil {
		return 0, err
	}
	defer body.Close()
	if size >= 0 {
		return size, nil
	}
	return io.Copy(io.Discard, body)
}
