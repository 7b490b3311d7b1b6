package rpm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/bundle/rpm/markup"
)

const (
	maxMirrorList = 1 << 20
	maxMirrors    = 8 // number of mirrors to try
)

// findMirrors returns the directories that contain repodata/, the best first, and
// the checksums of repomd.xml that the metalink allows.
func (s *source) findMirrors(ctx context.Context) (bases []string, sums []checksum, err error) {
	switch {
	case s.MirrorList != "":
		text, err := fetchAll(ctx, s.fetch, s.MirrorList, maxMirrorList)
		if err != nil {
			return nil, nil, err
		}
		bases = parseMirrorList(text)
	case s.Metalink != "":
		text, err := fetchAll(ctx, s.fetch, s.Metalink, maxMirrorList)
		if err != nil {
			return nil, nil, err
		}
		if bases, sums, err = parseMetalink(text); err != nil {
			return nil, nil, unusable(fmt.Errorf("read metalink %s: %w", s.Metalink, err))
		}
	default:
		bases = []string{s.BaseURL}
	}
	if len(bases) == 0 {
		return nil, nil, unusable(fmt.Errorf("read mirror list %s: it has no http or https URL", s.MirrorList+s.Metalink))
	}
	return bases[:min(len(bases), maxMirrors)], sums, nil
}

// parseMirrorList returns the URLs, one per line. As librepo it ignores other lines: comments, and rsync and ftp URLs.
func parseMirrorList(text []byte) []string {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	var bases []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); isURL(line) {
			bases = append(bases, line)
		}
	}
	return bases
}

// xmlMetalink is version 3.0, as mirror managers write it for repomd.xml:
// https://www.metalinker.org/Metalink_3.0_Spec.pdf. Fedora's adds alternates
// for earlier versions of repomd.xml.
type xmlMetalink struct {
	XMLName xml.Name `xml:"metalink"`
	Files   []struct {
		Name       string      `xml:"name,attr"`
		Hashes     []checksum  `xml:"verification>hash"`
		Alternates []checksum  `xml:"alternates>alternate>verification>hash"`
		URLs       []xmlMirror `xml:"resources>url"`
	} `xml:"files>file"`
}

type xmlMirror struct {
	Preference amount `xml:"preference,attr"` // 1 to 100
	URL        string `xml:",chardata"`
}

func parseMetalink(text []byte) (bases []string, sums []checksum, err error) {
	var m xmlMetalink
	if err := markup.Decode(text, &m); err != nil {
		return nil, nil, err
	}
	for _, f := range m.Files {
		if f.Name != "repomd.xml" {
			continue
		}
		slices.SortStableFunc(f.URLs, func(a, b xmlMirror) int { return cmp.Compare(b.Preference, a.Preference) })
		for _, u := range f.URLs {
			if base, is := strings.CutSuffix(strings.TrimSpace(u.URL), "/repodata/repomd.xml"); is && isURL(base) {
				bases = append(bases, base)
			}
		}
		for _, sum := range append(f.Hashes, f.Alternates...) {
			if kind := sum.kind(); kind == "sha256" || kind == "sha512" {
				sums = append(sums, sum)
			}
		}
	}
	if len(sums) == 0 {
		return nil, nil, errors.New("it has no sha256 or sha512 of repomd.xml")
	}
	return bases, sums, nil
}

// anyOf checks that one of the checksums matches data. Without checksums it
// checks nothing.
func anyOf(sums []checksum, data []byte) error {
	var err error
	for _, sum := range sums {
		if err = sum.check(data); err == nil {
			return nil
		}
	}
	return err
}
