package rpm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/httpclient"
)

// ErrForbidden matches the errors of a Fetcher for a file that the server refuses (403).
var ErrForbidden = errors.New("the server refuses the file")

// ErrPage matches the errors of a Fetcher for an HTML page with an error status.
var ErrPage = errors.New("a web page answered")

// unsigned says why repomd.xml has no signature; "" if the error of reading it has another reason. Object
// storage answers 403 for a missing file if it must not list the directory. repomd.xml itself came from
// there, so the login is right.
func (s *source) unsigned(err error) string {
	at := s.url("repodata/repomd.xml.asc")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.Unsigned = "no repomd.xml.asc"
		return at + " does not exist"
	case errors.Is(err, ErrForbidden) && errors.Is(err, ErrPage):
		const refused = " gives 403 Forbidden with a web page: the server or a proxy blocks the file"
		s.Unsigned = "repomd.xml.asc" + refused
		return at + refused
	case errors.Is(err, ErrForbidden):
		const refused = " gives 403 Forbidden, as object storage does for a missing file"
		s.Unsigned = "repomd.xml.asc" + refused
		return at + refused
	}
	s.Unsigned = ""
	return ""
}

// plainReader is a Fetcher that maps URLs to mirrors, and so knows which ones it reads over plain HTTP.
type plainReader interface{ Plain(url string) bool }

func isPlain(f Fetcher, url string) bool {
	if p, is := f.(plainReader); is {
		return p.Plain(url)
	}
	return strings.HasPrefix(url, "http://")
}

// refusePlain refuses metadata that anyone on the way can have changed: it came over plain HTTP, without a
// signature, and without a checksum from a metalink.
func (s *source) refusePlain(sums []checksum) error {
	if s.SignedMetadata || !isPlain(s.fetch, s.bases[0]) || len(sums) > 0 && !isPlain(s.fetch, s.Metalink) {
		return nil
	}
	return advice.Add(fmt.Errorf("read %s over plain HTTP: the metadata is not signed (%s), so others on the network can change it", s.url("repodata/repomd.xml"), s.Unsigned),
		"use the https address of repository %s, or a metalink with https", s.Name)
}

// keyFetcher refuses keys over plain HTTP, unless an earlier plan has their fingerprints.
type keyFetcher struct {
	Fetcher

	seen *Seen
}

func (f keyFetcher) Open(ctx context.Context, url string, offset int64) (io.ReadCloser, int64, error) {
	if isPlain(f.Fetcher, url) && (f.seen == nil || len(f.seen.Keys) == 0) {
		return nil, 0, advice.Add(fmt.Errorf("GET %s: a key over plain HTTP can be the key of others on the network", url),
			"use an https address in gpgKeys; or download the key, compare its fingerprint with the vendor's page, and name the file")
	}
	return f.Fetcher.Open(httpclient.Checked(ctx), url, offset)
}
