package rpm

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"airgap.dev/airgap/bundle/rpm/metacache"
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

// repomdData is one metadata file in repomd.xml.
type repomdData struct {
	Type     string   `xml:"type,attr"`
	Checksum checksum `xml:"checksum"`
	Location struct {
		Href string `xml:"href,attr"`
	} `xml:"location"`
	Size      int64   `xml:"size"`
	Timestamp seconds `xml:"timestamp"`
}

func parseRepomd(data []byte) (*repomd, error) {
	var md repomd
	if err := xml.NewDecoder(bytes.NewReader(data)).Decode(&md); err != nil {
		return nil, fmt.Errorf("read repomd.xml: %w", err)
	}
	for _, d := range md.Data {
		if err := checkHref(d.Location.Href); err != nil {
			return nil, fmt.Errorf("read repomd.xml: %w", err)
		}
	}
	return &md, nil
}

// find returns the metadata file of a type.
func (md *repomd) find(kind string) (repomdData, bool) {
	for _, d := range md.Data {
		if d.Type == kind {
			return d, true
		}
	}
	return repomdData{}, false
}

// checkHref refuses locations outside of the repository.
func checkHref(href string) error {
	clean := path.Clean(href)
	bad := href == "" || clean == "." || path.IsAbs(href) || clean == ".." || strings.HasPrefix(clean, "../") ||
		strings.ContainsAny(href, "\\?#%:") || strings.ContainsFunc(href, func(r rune) bool { return r < ' ' || r == 0x7f })
	if bad {
		return fmt.Errorf("the location %q is not inside the repository", href)
	}
	return nil
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
}

// openSource reads the keys, and repomd.xml from the first mirror with a verified
// one.
func openSource(ctx context.Context, f Fetcher, r Repository, seen *Seen, os string) (*source, error) {
	s := &source{Searched: Searched{Repository: r}, seen: seen, fetch: f}
	var err error
	if s.keys, err = fetchKeyring(ctx, keyFetcher{f, seen}, r.GPGKeys, os); err != nil {
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
		return &wrongError{fmt.Errorf("verify %s with the metalink: %w", s.url("repodata/repomd.xml"), err)}
	}
	if s.SignedMetadata, err = s.checkRepomd(ctx, data); err != nil {
		return err
	}
	if err := s.refusePlain(sums); err != nil {
		return err
	}
	if s.md, err = parseRepomd(data); err != nil {
		return &wrongError{err}
	}
	s.Timestamp = s.md.timestamp()
	return s.checkAge()
}

// readSource reads one repository. Its errors name the repository.
func readSource(ctx context.Context, f Fetcher, r Repository, req Request) (*source, error) {
	ctx = httpclient.Checked(httpclient.For(ctx, "packages of repository "+r.Name))
	s, err := openSource(ctx, f, r, req.seen(r.Name), req.OS)
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
	s.byID = make(map[string]*entry, len(s.entries))
	for _, e := range s.entries {
		s.byID[e.id()] = e
	}
	return s, nil
}

func (s *source) wrap(err error) error { return fmt.Errorf("read repository %s: %w", s.Name, err) }

// url returns the URL of a file on the current mirror.
func (s *source) url(href string) string { return below(s.bases[0], href) }

func below(base, href string) string { return strings.TrimSuffix(base, "/") + "/" + href }

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
	if signatureTime(signature).IsZero() { // an error page, or an empty file
		return false, &wrongError{fmt.Errorf("read %s: it is not an OpenPGP signature: ask the operator of this mirror", s.url("repodata/repomd.xml.asc"))}
	}
	if err := s.keys.check(bytes.NewReader(data), signature); err != nil {
		return false, &wrongError{fmt.Errorf("verify %s: its signature is not from a configured key (%s): %w",
			s.url("repodata/repomd.xml"), strings.Join(s.keys.Fingerprints(), ", "), err)}
	}
	return true, nil
}

// errNotListed reports that repomd.xml has no metadata of that kind. A listed file
// must exist.
var errNotListed = errors.New("repomd.xml does not list it")

// metadata fetches one metadata file and checks it against repomd.xml.
func (s *source) metadata(ctx context.Context, kind string) (metadata, error) {
	d, ok := s.md.find(kind)
	if !ok {
		return metadata{}, fmt.Errorf("find %s metadata: %w", kind, errNotListed)
	}
	limit := int64(maxCompressed)
	if d.Size > 0 && d.Size < limit {
		limit = d.Size
	}
	if data := s.cached(d, limit); data != nil {
		return metadata{name: d.Location.Href, data: data}, nil
	}
	var errs []error
	for _, base := range s.bases {
		var data []byte
		err := httpclient.Again(ctx, isWrong, func(ctx context.Context) error {
			var err error
			if data, err = fetchAll(ctx, s.fetch, below(base, d.Location.Href), limit); err != nil {
				return err
			}
			if err := d.Checksum.check(data); err != nil {
				return &wrongError{fmt.Errorf("verify %s: %w", below(base, d.Location.Href), err)}
			}
			return nil
		})
		if err == nil {
			_ = s.cache.Put(d.Checksum.file(), data) // then the next plan fetches it again
			return metadata{name: d.Location.Href, data: data}, nil
		}
		if errs = append(errs, err); ctx.Err() != nil {
			break
		}
	}
	return metadata{}, errors.Join(errs...)
}

// cached returns the verified file from the cache of an earlier plan, or nil.
func (s *source) cached(d repomdData, limit int64) []byte {
	data := s.cache.Get(d.Checksum.file(), limit)
	if data == nil || d.Checksum.check(data) != nil {
		return nil
	}
	return data
}

// file is the name of the file in the cache.
func (c checksum) file() string { return c.Type + "-" + strings.ToLower(strings.TrimSpace(c.Hex)) }
