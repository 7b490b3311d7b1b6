package rpm

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"airgap.dev/airgap/bundle/rpm/markup"
	"airgap.dev/airgap/bundle/rpm/metacache"
	"airgap.dev/airgap/bundle/rpm/pgp"
	"airgap.dev/airgap/internal/httpclient"
)

const (
	maxRepomd    = 4 << 20
	maxSignature = 1 << 20
)

// repomd is repomd.xml, the root of a repository's metadata.
type repomd struct {
	XMLName xml.Name     `xml:"repomd"`
	Data    []repomdData `xml:"data"`
}

// repomdData is one metadata file in repomd.xml. airgap checks only the files that it reads: a repository can have
// others that are damaged.
type repomdData struct {
	Type     string   `xml:"type,attr"`
	Checksum checksum `xml:"checksum"`
	Location struct {
		Base string `xml:"base,attr"`
		Href string `xml:"href,attr"`
	} `xml:"location"`
	Size      amount `xml:"size"`
	Timestamp amount `xml:"timestamp"`
}

func parseRepomd(data []byte) (*repomd, error) {
	var md repomd
	if err := markup.Decode(data, &md); err != nil {
		return nil, err
	}
	return &md, nil
}

// find returns the metadata file of a type, the first as in librepo.
func (md *repomd) find(kind string) (repomdData, bool) {
	for _, d := range md.Data {
		if d.Type == kind {
			return d, true
		}
	}
	return repomdData{}, false
}

// errNotListed reports that repomd.xml has no metadata of that kind. A listed file
// must exist.
var errNotListed = errors.New("repomd.xml does not list it")

// missing says why a kind of metadata cannot be read.
func (md *repomd) missing(kind string) error {
	if _, is := md.find(kind + "_zck"); is {
		return notXML("repomd.xml lists it only as zchunk")
	}
	if _, is := md.find(kind + "_db"); is && kind == "primary" { // dnf reads no databases either
		return notXML("repomd.xml lists it only as a database of SQLite")
	}
	return errNotListed
}

// unusable is an error about a kind of metadata in repomd.xml.
func (s *source) unusable(kind string, err error) error {
	return unusable(fmt.Errorf("find %s metadata in %s: %w", kind, s.url("repodata/repomd.xml"), err))
}

// relative returns the path of a file in the repository. As librepo it accepts slashes at the start, escapes of URLs, and
// a whole URL; it refuses paths to other directories.
func relative(href string) (string, error) {
	if isURL(href) {
		return href, nil
	}
	plain, err := url.PathUnescape(href)
	if err != nil {
		plain = href // "%" is a character of the name
	}
	clean := path.Clean(strings.TrimLeft(plain, "/"))
	odd := func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' || r == utf8.RuneError }
	switch {
	case clean == ".", clean == "..", strings.HasPrefix(clean, "../"), strings.HasPrefix(clean, "/"), strings.ContainsFunc(plain, odd):
		return "", fmt.Errorf("its location %.200q is not inside the repository", href)
	case strings.Contains("/"+plain+"/", "/../"):
		return clean, nil
	}
	return strings.TrimLeft(href, "/"), nil
}

// source is a repository while Plan reads it.
type source struct {
	Searched
	seen      *Seen
	fetch     Fetcher
	cache     metacache.Dir
	bases     []string // mirrors, the current one first
	md        *repomd
	primary   metadata
	filelists metadata // fetched on the first use
	entries   []*entry // nil after the universe has indexed them
	modules   modules
	byID      map[string]*entry
	left      []*recordError // records of primary that are left out, at most maxLeft
	more      int            // number of sentences for Notices
	weight    int            // of entries and left
}

// openSource reads the keys, and repomd.xml from the first mirror with a verified
// one.
func openSource(ctx context.Context, f Fetcher, r Repository, seen *Seen, servers targets) (*source, error) {
	s := &source{Searched: Searched{Repository: r}, seen: seen, fetch: f}
	var err error
	if s.keys, err = fetchKeyring(ctx, keyFetcher{f, seen}, r.GPGKeys, servers); err != nil {
		return nil, err
	}
	if err := s.checkKeys(); err != nil {
		return nil, err
	}
	bases, sums, err := s.findMirrors(ctx)
	if err != nil {
		return nil, err
	}
	var errs []error
	for i := range bases {
		s.bases = slices.Concat(bases[i:], bases[:i])
		err := httpclient.Again(ctx, isWrong, func(ctx context.Context) error { return s.readRepomd(ctx, sums) })
		if err == nil {
			return s, nil
		}
		if errs = append(errs, err); ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(errs...)
}

// readRepomd reads and verifies repomd.xml from the first base.
func (s *source) readRepomd(ctx context.Context, sums []checksum) error {
	data, err := fetchAll(ctx, s.fetch, s.url("repodata/repomd.xml"), maxRepomd)
	if err != nil {
		return explainLocal(s.bases[0], err)
	}
	if err := anyOf(sums, data); err != nil {
		return &wrongError{unusable(fmt.Errorf("verify %s with the metalink: %w", s.url("repodata/repomd.xml"), err))}
	}
	if s.SignedMetadata, err = s.checkRepomd(ctx, data); err != nil {
		return err
	}
	if err := s.refusePlain(sums); err != nil {
		return err
	}
	if s.md, err = parseRepomd(data); err != nil {
		return &wrongError{unusable(fmt.Errorf("read %s: %w", s.url("repodata/repomd.xml"), err))}
	}
	s.Timestamp = min(s.md.timestamp(), time.Now().Unix()) // a wrong clock makes no later metadata look old
	return s.checkAge()
}

// readSource reads one repository. Its errors name the repository.
func readSource(ctx context.Context, f Fetcher, r Repository, req Request, servers targets) (*source, error) {
	ctx = httpclient.Checked(httpclient.For(ctx, "packages of repository "+r.Name))
	s, err := openSource(ctx, f, r, req.seen(r.Name), servers)
	if err != nil {
		return nil, fmt.Errorf("read repository %s: %w", r.Name, err)
	}
	if !isFileURL(s.bases[0]) {
		s.cache = metacache.Dir(req.Cache)
	}
	if s.modules, err = s.readModules(ctx); err != nil {
		return nil, s.wrap(err)
	}
	if s.entries, err = s.readPrimary(ctx, req.Arch); err != nil {
		return nil, s.wrap(err)
	}
	s.report()
	s.byID = make(map[string]*entry, len(s.entries))
	for _, e := range s.entries {
		if s.byID[e.id()] == nil { // a package that is listed twice
			s.byID[e.id()] = e
		}
	}
	return s, nil
}

func (s *source) wrap(err error) error { return fmt.Errorf("read repository %s: %w", s.Name, err) }

// url returns the URL of a file on the current mirror.
func (s *source) url(href string) string { return below(s.bases[0], href) }

// below returns the URL of a file below base. As librepo it keeps the escapes of URLs in href.
func below(base, href string) string {
	if _, err := url.PathUnescape(href); err != nil {
		href = strings.ReplaceAll(href, "%", "%25")
	}
	return strings.TrimSuffix(base, "/") + "/" + strings.ReplaceAll(href, "#", "%23")
}

// locate resolves the base of a package: another server, or a directory of the same medium. A mounted DVD has the name
// of the medium, which dnf ignores.
func (s *source) locate(e *entry) error {
	base := e.base
	e.base = ""
	switch inside, is := strings.CutPrefix(below(base, ""), below(s.bases[0], "")); {
	case base == "", strings.HasPrefix(base, "media:") && isFileURL(s.bases[0]):
		return nil
	case isURL(base):
		e.url = below(base, e.url)
		return nil
	case isFileURL(base) && is:
		path, err := relative(inside + e.url)
		e.url = path
		if err == nil {
			return nil
		}
	}
	return e.odd(fmt.Errorf("its base %.200q is not the URL of a web server", base))
}

// checkRepomd reports whether repomd.xml is signed. Red Hat does not sign it. An
// existing signature must be valid.
func (s *source) checkRepomd(ctx context.Context, data []byte) (bool, error) {
	signature, err := fetchAll(ctx, s.fetch, s.url("repodata/repomd.xml.asc"), maxSignature)
	if missing := s.unsigned(err); missing != "" {
		return false, s.checkUnsigned(missing)
	}
	if err != nil {
		return false, err
	}
	if pgp.Time(signature).IsZero() { // an error page, or an empty file
		return false, &wrongError{fmt.Errorf("read %s: it is not an OpenPGP signature: ask the operator of this mirror", s.url("repodata/repomd.xml.asc"))}
	}
	if err := s.keys.check(bytes.NewReader(data), signature); err != nil {
		return false, &wrongError{fmt.Errorf("verify %s: its signature is not from a configured key (%s): %w",
			s.url("repodata/repomd.xml"), strings.Join(s.keys.Fingerprints(), ", "), err)}
	}
	return true, nil
}

// metadata fetches one metadata file and checks it against repomd.xml.
func (s *source) metadata(ctx context.Context, kind string) (metadata, error) {
	d, ok := s.md.find(kind)
	if !ok {
		return metadata{}, s.unusable(kind, s.md.missing(kind))
	}
	limit := int64(maxCompressed)
	if d.Size > 0 && int64(d.Size) < limit {
		limit = int64(d.Size)
	}
	name, err := relative(d.Location.Href)
	if err != nil {
		return metadata{}, s.unusable(kind, err)
	}
	locations := s.locations(d.Location.Base, name)
	sum := s.allow(d.Checksum)
	if _, err := sum.new(); err != nil {
		return metadata{}, unusable(fmt.Errorf("verify %s: %w", locations[0], err))
	}
	if data := s.cache.Get(sum.file(), limit); data != nil && sum.check(data) == nil {
		return metadata{name: locations[0], data: data}, nil
	}
	var errs []error
	for _, at := range locations {
		var data []byte
		err := httpclient.Again(ctx, isWrong, func(ctx context.Context) error {
			var err error
			if data, err = fetchAll(ctx, s.fetch, at, limit); err != nil {
				return err
			}
			if err := sum.check(data); err != nil {
				return &wrongError{unusable(fmt.Errorf("verify %s: %w", at, err))}
			}
			return nil
		})
		if err == nil {
			_ = s.cache.Put(sum.file(), data) // then the next plan fetches it again
			return metadata{name: at, data: data}, nil
		}
		if errs = append(errs, err); ctx.Err() != nil {
			break
		}
	}
	return metadata{}, errors.Join(errs...)
}

// allow returns a checksum of the repository as it is allowed to be.
func (s *source) allow(sum checksum) checksum {
	sum.Type, sum.sha1 = sum.kind(), s.Checksums == ChecksumsSHA1
	return sum
}

// locations returns the URLs of a metadata file: on all mirrors, or below the base that repomd.xml names.
func (s *source) locations(base, name string) []string {
	switch {
	case isURL(name):
		return []string{name}
	case isURL(base):
		return []string{below(base, name)}
	}
	var all []string
	for _, base := range s.bases {
		all = append(all, below(base, name))
	}
	return all
}
