package fetch

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
)

// pageError is an HTML page or a JSON error in place of the requested file, with a
// success status. A proxy, a portal or a server that requires a login sends it.
type pageError struct {
	url       string // requested URL
	from      string // answering host after a redirect; "" without one
	mediaType string // Content-Type from the server
	title     string // of the page; "" without one
	via       string // proxy of the URL; "" for none
}

func (e *pageError) Error() string {
	from := ""
	if e.from != "" {
		from = " from " + e.from
	}
	kind := e.mediaType
	if kind == "" {
		kind = "no content type"
	}
	if e.title != "" {
		kind += fmt.Sprintf(", with the title %q", e.title)
	}
	if e.via != "" {
		kind += ", through the proxy " + e.via
	}
	return fmt.Sprintf("GET %s: a proxy or login page answered%s (%s), not the file: open the URL in a browser on this host to see the page; then allow the URL in the proxy, set another proxy or a mirror in sources, or configure a login", e.url, from, kind)
}

// UnexpectedPage is the error of a page in place of the file at url.
func UnexpectedPage(url, mediaType string) error {
	return &pageError{url: Presentable(url), mediaType: mediaType}
}

// sniffed is the number of bytes that show the kind of an answer.
const sniffed = 512

// refusePage checks the first bytes of an answer and puts them back.
func (d *download) refusePage(r *http.Response) error {
	head := d.peek(sniffed)
	if len(head) == 0 {
		return nil // the next reader gets the error
	}
	if !isPage(r.Request.URL.Path, head) && !isPage(asked(d.url).Path, head) {
		return nil
	}
	e := &pageError{url: Presentable(d.url), mediaType: d.mediaType, via: d.via(r.Request.URL.String())}
	if page := d.page(); page != nil {
		e.title = page.title
	}
	if r.Request.URL.Host != asked(d.url).Host {
		e.from = r.Request.URL.Scheme + "://" + r.Request.URL.Host
	}
	return e
}

// peek returns the first bytes of the body, and puts them back.
func (d *download) peek(n int) []byte {
	head := make([]byte, n)
	n, err := io.ReadFull(d.body, head)
	if n > 0 {
		d.body = restored{io.MultiReader(bytes.NewReader(head[:n]), failed(d.body, err)), d.body}
	}
	return head[:n]
}

// page is the HTML page in the body; nil if it is none.
func (d *download) page() *webPage { return pageOf(d.peek(maxTitle)) }

func pageOf(begin []byte) *webPage {
	if !isHTML(begin) {
		return nil
	}
	return newWebPage(begin)
}

// maxTitle is the number of bytes in which a title is searched.
const maxTitle = 64 << 10

func asked(of string) *url.URL {
	u, err := url.Parse(of)
	if err != nil {
		return &url.URL{}
	}
	return u
}

// failed returns the rest of a body, or the error after its first bytes.
func failed(body io.Reader, err error) io.Reader {
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF { //nolint:errorlint // io.ReadFull's own
		return errorReader{err}
	}
	return body
}

type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error) { return 0, r.err }

type restored struct {
	io.Reader
	io.Closer
}

// isPage reports whether an answer to a request for this path is a page or a JSON
// error. A page is expected for a path of a page.
func isPage(of string, head []byte) bool {
	ext := strings.ToLower(path.Ext(of))
	switch {
	case isHTML(head):
		return !slices.Contains([]string{".html", ".htm", ".xhtml"}, ext)
	case bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")): // an error of a gateway
		return slices.Contains([]string{".xml", ".gz", ".tgz", ".xz", ".zst", ".bz2", ".rpm", ".asc"}, ext)
	}
	return false
}

// isHTML also recognizes HTML after a byte order mark, an XML declaration and comments,
// which XHTML and other XML files have at the start.
func isHTML(head []byte) bool {
	text := strings.ToLower(strings.TrimSpace(strings.TrimPrefix(string(head), "\xEF\xBB\xBF")))
	for {
		var rest string
		var is bool
		switch {
		case strings.HasPrefix(text, "<?"):
			_, rest, is = strings.Cut(text, "?>")
		case strings.HasPrefix(text, "<!--"):
			_, rest, is = strings.Cut(text, "-->")
		}
		if !is {
			break
		}
		text = strings.TrimSpace(rest)
	}
	for _, begin := range []string{"<!doctype html", "<html", "<head", "<body", "<script", "<title", "<meta"} {
		if rest, is := strings.CutPrefix(text, begin); is && (rest == "" || strings.ContainsRune(" \t\r\n>/", rune(rest[0]))) {
			return true
		}
	}
	return false
}
