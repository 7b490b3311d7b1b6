package rpm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/httpclient"
)

// sum256 returns the SHA-256 of a package's file. If the repository has another checksum,
// such as SHA-512, it is the locked one, or Plan reads the file and verifies it.
func (n *union) sum256(ctx context.Context, e *entry) (string, error) {
	if e.checksum.Type == "sha256" {
		return e.id(), nil
	}
	if _, err := e.checksum.new(); err != nil {
		return "", fmt.Errorf("plan package %s: %w", e, err)
	}
	if i := slices.IndexFunc(n.locked, func(l Locked) bool { return l.NEVRA == e.NEVRA }); i >= 0 {
		return n.locked[i].SHA256, nil
	}
	ctx = httpclient.Checked(httpclient.For(ctx, "packages of repository "+e.source.Name))
	var errs []error
	for _, url := range append([]string{e.from()}, e.mirrors()...) {
		var sum string
		err := httpclient.Again(ctx, isWrong, func(ctx context.Context) error {
			var err error
			sum, err = e.readSum(ctx, url)
			return err
		})
		if err == nil {
			return sum, nil
		}
		if errs = append(errs, err); ctx.Err() != nil {
			break
		}
	}
	return "", fmt.Errorf("plan package %s: %w", e, errors.Join(errs...))
}

// readSum reads the file at url, verifies the repository's checksum and returns the SHA-256.
func (e *entry) readSum(ctx context.Context, url string) (string, error) {
	body, _, err := e.source.fetch.Open(ctx, url, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = body.Close() }()
	theirs, err := e.checksum.new()
	if err != nil {
		return "", err
	}
	ours := sha256.New()
	size, err := io.Copy(io.MultiWriter(theirs, ours), io.LimitReader(body, e.size+1))
	if err != nil {
		return "", fmt.Errorf("fetch %s: %w", url, err)
	}
	if got := hex.EncodeToString(theirs.Sum(nil)); size != e.size || got != e.id() {
		return "", &wrongError{fmt.Errorf("verify %s: its %s is %s with %d bytes, expected %s with %d bytes", url, e.checksum.Type, got, size, e.id(), e.size)}
	}
	return hex.EncodeToString(ours.Sum(nil)), nil
}

var checksumElement = regexp.MustCompile(`<checksum\s[^>]*>[^<]*</checksum>`)

// useSum replaces the repository's checksum in the metadata of the bundle by the SHA-256,
// which is the package's ID there.
func (p *Package) useSum(id string) {
	if id == p.SHA256 {
		return
	}
	element := checksumElement.Find(p.primary)
	ours := []byte(`<checksum type="sha256" pkgid="YES">` + p.SHA256 + `</checksum>`)
	p.primary = bytes.Replace(p.primary, element, ours, 1)
	if at := pkgid.FindSubmatchIndex(p.filelists); at != nil {
		p.filelists = slices.Concat(p.filelists[:at[2]], []byte(p.SHA256), p.filelists[at[3]:])
	}
}

// is reports whether e is the locked package. A repository without SHA-256 has only its name
// and version.
func (l Locked) is(e *entry) bool {
	return e.NEVRA == l.NEVRA && (e.checksum.Type != "sha256" || strings.EqualFold(e.id(), l.SHA256))
}
