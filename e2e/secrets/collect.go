package secrets

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// A Collector fills a book from the files in which servers keep the secrets that they
// generate. It reads a file again only after a change.
type Collector struct {
	Book *Book

	seen map[string]stamp
}

type stamp struct {
	written time.Time
	size    int64
}

const largest = 256 << 10 // bytes of a file with keys

// Tree reads every small file below outer, which has the path inner on the server. A
// missing directory is not an error.
func (c *Collector) Tree(server, outer, inner string) error {
	return filepath.WalkDir(outer, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return gone(err)
		}
		info, err := d.Info()
		if err != nil || info.Size() > largest {
			return gone(err)
		}
		below, err := filepath.Rel(outer, path)
		if err != nil {
			return err
		}
		name, now := server+":"+filepath.Join(inner, below), stamp{info.ModTime(), info.Size()}
		if c.seen[name] == now {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return gone(err)
		}
		if c.seen == nil {
			c.seen = map[string]stamp{}
		}
		c.seen[name] = now
		return c.Book.FromFile(name, text)
	})
}

// The formats of secrets in the files of a server.
var (
	pemKey     = regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY( BLOCK)?-----\r?\n`)
	clientKey  = regexp.MustCompile(`client-key-data: *([A-Za-z0-9+/=]+)`)
	bootstrap  = regexp.MustCompile(`token: *"?([a-z0-9]{6}\.[a-z0-9]{16})\b`)
	signature  = regexp.MustCompile(`eyJ[A-Za-z0-9_-]+\.eyJ[A-Za-z0-9_-]+\.([A-Za-z0-9_-]{40,})`)
	encryption = regexp.MustCompile(`(?s)kind: *"?EncryptionConfiguration`)
	encrypting = regexp.MustCompile(`secret: *"?([A-Za-z0-9+/=]{20,})`)
)

// FromFile adds the secrets in a file of a server.
func (b *Book) FromFile(name string, text []byte) error {
	var errs []error
	if pemKey.Match(text) {
		errs = append(errs, b.AddKey(Key, name, text))
	}
	for _, m := range clientKey.FindAllSubmatch(text, -1) {
		if inner, err := base64.StdEncoding.DecodeString(string(m[1])); err == nil {
			errs = append(errs, b.AddKey(Key, name, inner))
		}
	}
	for _, m := range signature.FindAllSubmatch(text, -1) {
		errs = append(errs, b.Add(Token, name, string(m[1])))
	}
	if encryption.Match(text) {
		for _, m := range encrypting.FindAllSubmatch(text, -1) {
			raw, err := base64.StdEncoding.DecodeString(string(m[1]))
			if err != nil {
				return fmt.Errorf("read the encryption key in %s: %w", name, err)
			}
			errs = append(errs, b.Add(EncryptionKey, name, string(raw)))
		}
	}
	for _, m := range bootstrap.FindAllSubmatch(text, -1) {
		errs = append(errs, b.Add(Code, name, string(m[1])))
	}
	return errors.Join(errs...)
}

// LooksLikeKey reports whether a text contains a private key, known or unknown.
func LooksLikeKey(text []byte) bool { return pemKey.Match(text) && len(keyPieces(text)) > 0 }
