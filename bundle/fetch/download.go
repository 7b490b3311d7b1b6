package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/google/go-containerregistry/pkg/name"

	"airgap.dev/airgap/internal/httpclient"
)

// Open reads an upstream URL, rewritten to its mirror, from offset on. It returns the
// size of the whole file in bytes, -1 if the server does not report it. The reader
// resumes after a broken connection.
func (c *Client) Open(ctx context.Context, url string, offset int64) (io.ReadCloser, int64, error) {
	if path, is := localPath(url); is {
		return openLocal(path, offset)
	}
	mirror, err := c.mirrored(url)
	if err != nil {
		return nil, 0, err
	}
	d, err := c.download(ctx, c.loginFor(url), mirror, offset)
	if err != nil {
		return nil, 0, err
	}
	return d, d.size, nil
}

// ReadTyped reads an upstream URL of at most limit bytes, and returns the media type
// from the server.
func (c *Client) ReadTyped(ctx context.Context, url string, limit int64) (text []byte, mediaType string, err error) {
	mirror, err := c.mirrored(url)
	if err != nil {
		return nil, "", err
	}
	body, err := c.download(ctx, c.loginIn(ctx, url), mirror, 0)
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

// OpenBlob reads a blob of a repository from its start.
func (c *Client) OpenBlob(ctx context.Context, repo name.Repository, digest string) (io.ReadCloser, error) {
	rt, err := c.transportFor(ctx, repo)
	if err != nil {
		return nil, err
	}
	url := fmt.Sprintf("%s://%s/v2/%s/blobs/%s", repo.Scheme(), repo.RegistryStr(), repo.RepositoryStr(), digest)
	return c.download(ctx, &login{client: httpclient.New(rt)}, url, 0)
}

// Size requests the size of the file at an upstream URL, in bytes.
func (c *Client) Size(ctx context.Context, url string) (int64, error) {
	body, size, err := c.Open(ctx, url, 0)
	if err != nil {
		return 0, err
	}
	body.Close()
	if size < 0 {
		return 0, fmt.Errorf("GET %s: the server does not report the size", Presentable(url))
	}
	return size, nil
}

// minProgress is the number of bytes that a connection must transfer to reset the count
// of failures. Without it, a server that sends a few bytes per connection would keep
// the client busy indefinitely.
const minProgress = 1 << 20

// download is a body that outlives its connection.
type download struct {
	ctx context.Context
	as  *login
	Patience
	url string

	mediaType string // Content-Type from the server

	off   int64 // offset of the next byte
	size  int64 // -1: unknown
	got   int64 // bytes from this connection
	fails int   // connections in a row with fewer bytes than minProgress
	body  io.ReadCloser
	stop  func() // ends the connection
	alarm *time.Timer
}

func (c *Client) download(ctx context.Context, as *login, url string, offset int64) (*download, error) {
	d := &download{ctx: ctx, as: as, Patience: c.Patience, url: url, off: offset, size: -1}
	if err := d.retry(ctx, d.connect); err != nil {
		return nil, err
	}
	return d, nil
}

func (d *download) connect() error {
	ctx, cancel := context.WithCancelCause(d.ctx)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url, nil)
	if err != nil {
		cancel(nil)
		return err
	}
	if d.as.user != "" {
		request.SetBasicAuth(d.as.user, d.as.password)
	}
	if d.off > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", d.off))
	}
	response, err := d.as.client.Do(request) //nolint:bodyclose // Close does, through stop
	if err != nil {
		cancel(nil)
		if err = presentableError(err); handshakeRefused(err) {
			err = fmt.Errorf("%w; %s", err, loginSettings)
		}
		return err
	}
	d.got = 0
	d.stop = func() { cancel(nil); response.Body.Close() }
	d.alarm = time.AfterFunc(d.Stall, func() { cancel(errStalled) })
	d.body = causeReader{ctx, response.Body, func() { d.alarm.Reset(d.Stall) }}
	if err := d.accept(response); err != nil {
		d.Close()
		return err
	}
	return nil
}

// accept reads the size. If the server does not support ranges, it skips to the wanted
// offset.
func (d *download) accept(r *http.Response) error {
	switch {
	case r.StatusCode == http.StatusOK && d.off == 0:
		d.size, d.mediaType = r.ContentLength, r.Header.Get("Content-Type")
		return d.refusePage(r)
	case r.StatusCode == http.StatusOK:
		d.size = r.ContentLength
		_, err := io.CopyN(io.Discard, d.body, d.off)
		return err
	case r.StatusCode == http.StatusPartialContent && d.off > 0:
		var from, to int64
		if _, err := fmt.Sscanf(r.Header.Get("Content-Range"), "bytes %d-%d/%d", &from, &to, &d.size); err != nil || from != d.off {
			return fmt.Errorf("GET %s: asked for bytes from %d, got %q", Presentable(d.url), d.off, r.Header.Get("Content-Range"))
		}
		return nil
	default:
		return &statusError{Presentable(d.url), r.StatusCode}
	}
}

func (d *download) Read(p []byte) (int, error) {
	for {
		n, err := d.body.Read(p)
		d.off += int64(n)
		if n > 0 {
			if d.got += int64(n); d.got >= minProgress {
				d.fails = 0
			}
			return n, nil
		}
		if err == nil {
			continue
		}
		if d.off == d.size { // the content is complete, even if the connection failed
			return 0, io.EOF
		}
		if errors.Is(err, io.EOF) {
			if d.size < 0 {
				return 0, io.EOF
			}
			err = io.ErrUnexpectedEOF
		}
		if err := d.reconnect(err); err != nil {
			return 0, fmt.Errorf("GET %s: after %d bytes: %w", Presentable(d.url), d.off, err)
		}
	}
}

// reconnect connects again; it returns cause if another attempt is useless.
func (d *download) reconnect(cause error) error {
	d.Close()
	d.fails++
	if d.fails >= d.Attempts || d.ctx.Err() != nil || !isPassing(cause) {
		return cause
	}
	if wait(d.ctx, d.Pause<<(d.fails-1)) != nil {
		return cause
	}
	return d.retry(d.ctx, d.connect)
}

// Size is the size of the whole file from the server, -1 if unknown.
func (d *download) Size() int64 { return d.size }

// Close ends the connection.
func (d *download) Close() error {
	if d.alarm != nil {
		d.alarm.Stop()
		d.stop()
	}
	return nil
}

// causeReader returns the reason of a cancelled connection. It calls comes for all
// received bytes, also for bytes that accept skips.
type causeReader struct {
	ctx   context.Context
	body  io.Reader
	comes func()
}

func (r causeReader) Read(p []byte) (int, error) {
	n, err := r.body.Read(p)
	if n > 0 {
		r.comes()
	}
	if err != nil && r.ctx.Err() != nil {
		err = context.Cause(r.ctx)
	}
	return n, err
}

func (r causeReader) Close() error { return nil }
