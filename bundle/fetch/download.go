package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"airgap.dev/airgap/internal/httpclient"
)

// minProgress is the number of bytes that a connection must transfer to reset the count
// of failures. Without it, a server that sends a few bytes per connection would keep
// the client busy indefinitely.
const minProgress = 1 << 20

// download is a body that outlives its connection.
type download struct {
	ctx context.Context
	as  *login
	Patience
	url    string
	begins *silentError // the time limit for the first byte
	via    func(url string) string

	mediaType string // Content-Type from the server

	off   int64 // offset of the next byte
	size  int64 // from the server; -1: unknown
	want  int64 // the expected size; -1: unknown
	got   int64 // bytes from this connection
	fails int   // connections in a row with fewer bytes than minProgress
	whole bool  // the server does not send the requested ranges
	body  io.ReadCloser
	stop  func() // ends the connection
	alarm *time.Timer
}

func (c *Client) download(ctx context.Context, as *login, url string, part Extent, begins *silentError) (*download, error) {
	d := &download{ctx: ctx, as: as, Patience: c.Patience, url: url, off: part.Offset, size: -1, want: part.Size, begins: begins, via: c.via}
	if err := d.retry(ctx, d.connect); err != nil {
		return nil, err
	}
	return d, nil
}

func (d *download) connect(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url, nil)
	if err != nil {
		cancel(nil)
		return err
	}
	if d.as.user != "" {
		request.SetBasicAuth(d.as.user, d.as.password)
	}
	if httpclient.IsFresh(ctx) {
		request.Header.Set("Cache-Control", "no-cache")
		request.Header.Set("Pragma", "no-cache")
	}
	ranged := d.off > 0 && !d.whole
	if ranged {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", d.off))
	}
	alarm := time.AfterFunc(d.begins.after, func() { cancel(d.begins) })
	response, err := d.as.client.Do(request) //nolint:bodyclose // Close does, through stop
	if err != nil {
		alarm.Stop()
		err = d.failed(err, context.Cause(ctx))
		cancel(nil)
		return err
	}
	d.got, d.alarm = 0, alarm
	d.stop = func() { cancel(nil); response.Body.Close() }
	alarm.Reset(d.begins.after) // some proxies hold only the content
	d.body = causeReader{ctx, response.Body, func() { alarm.Reset(d.Stall) }}
	if err := d.accept(response, ranged); err != nil {
		d.Close()
		return err
	}
	return nil
}

// failed returns the error of a request without an answer. cause is why its context ended.
func (d *download) failed(err, cause error) error {
	if errors.Is(cause, d.begins) {
		return fmt.Errorf("GET %s%s: %w", Presentable(d.url), d.through(), d.begins)
	}
	if err = presentableError(err); handshakeRefused(err) {
		err = fmt.Errorf("%w; %s", err, loginSettings)
	}
	return err
}

// through names the proxy of the URL, for a message.
func (d *download) through() string {
	if via := d.via(d.url); via != "" {
		return " through the proxy " + via
	}
	return ""
}

// accept reads the size, and skips to the wanted offset if the server sends more.
func (d *download) accept(r *http.Response, ranged bool) error {
	switch {
	case r.StatusCode == http.StatusOK:
		if d.size >= 0 && r.ContentLength >= 0 && r.ContentLength != d.size {
			return &changedError{Presentable(d.url), d.size, r.ContentLength}
		}
		d.size, d.mediaType = max(d.size, r.ContentLength), r.Header.Get("Content-Type")
		if err := d.refusePage(r); err != nil {
			return err
		}
		return d.skip(d.off)
	case r.StatusCode == http.StatusPartialContent && ranged:
		from, total, err := contentRange(r.Header.Get("Content-Range"))
		if err != nil || from < 0 || from > d.off || d.isOther(total) {
			return d.refuseRange(r)
		}
		d.size = max(d.size, total)
		return d.skip(d.off - from)
	case r.StatusCode == http.StatusRequestedRangeNotSatisfiable && ranged:
		if _, total, err := contentRange(r.Header.Get("Content-Range")); err == nil && total == d.off && d.size < 0 {
			d.size, d.body = total, io.NopCloser(strings.NewReader("")) // the connection broke after the last byte
			return nil
		}
		return d.refuseRange(r)
	default:
		return &statusError{Presentable(d.url), r.StatusCode, d.page(), Presentable(r.Request.URL.String()), d.via(r.Request.URL.String())}
	}
}

// isOther reports whether a size from the server contradicts an earlier one; -1 is unknown.
func (d *download) isOther(total int64) bool {
	return total >= 0 && (d.size >= 0 && total != d.size || total < d.off)
}

// refuseRange makes the next connection request the whole file.
func (d *download) refuseRange(r *http.Response) error {
	d.whole = true
	return fmt.Errorf("GET %s: asked for bytes from %d, got %d %s and %q", Presentable(d.url), d.off, r.StatusCode, http.StatusText(r.StatusCode), r.Header.Get("Content-Range"))
}

func (d *download) skip(n int64) error {
	if _, err := io.CopyN(io.Discard, d.body, n); errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	} else if err != nil {
		return err
	}
	return nil
}

// contentRange reads "bytes 5-9/10", "bytes 5-9/*" and "bytes */10"; unknown numbers are -1.
func contentRange(header string) (from, total int64, err error) {
	var to int64
	if _, err = fmt.Sscanf(header, "bytes */%d", &total); err == nil {
		return -1, total, nil
	}
	if _, err = fmt.Sscanf(header, "bytes %d-%d/%d", &from, &to, &total); err == nil && to >= from && total > to {
		return from, total, nil
	}
	if _, err = fmt.Sscanf(header, "bytes %d-%d/*", &from, &to); err == nil && to >= from && header[len(header)-1] == '*' {
		return from, -1, nil
	}
	return 0, 0, fmt.Errorf("Content-Range %q", header)
}

// changedError is a file with another size than at the beginning of its download.
type changedError struct {
	url      string
	was, now int64
}

func (e *changedError) Error() string {
	return fmt.Sprintf("GET %s: the file changed during the download: it had %d bytes and has %d", e.url, e.was, e.now)
}

// Wrong reports that the received bytes cannot be used.
func (e *changedError) Wrong() bool { return true }

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
			// Without a length from the server, the end of a connection looks like the end of the file.
			if d.size < 0 && d.off >= d.want {
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
	if wait(d.ctx, jitter(d.Pause<<(d.fails-1))) != nil {
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
