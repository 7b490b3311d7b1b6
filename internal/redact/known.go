package redact

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"regexp"
	"strings"
)

// Book holds the secrets that a host has, in each form in which they may be
// written: as they are, in hexadecimal, and in base64 wherever it begins.
type Book struct {
	x    *index
	seen map[string]bool
}

func (b *Book) index() *index {
	if b == nil || b.x == nil {
		return newIndex()
	}
	return b.x
}

// Len is how many secrets it holds.
func (b *Book) Len() int { return len(b.seen) }

// Add notes a value. One of less than 16 bytes is left to the forms: it would be
// found by chance.
func (b *Book) Add(value []byte) {
	if len(value) < window || !b.fresh(value) {
		return
	}
	b.x.add(value)
	digits := hex.EncodeToString(value)
	b.x.add([]byte(digits))
	b.x.add([]byte(strings.ToUpper(digits)))
	b.addBase64(value)
}

func (b *Book) fresh(value []byte) bool {
	if b.x == nil {
		b.x, b.seen = newIndex(), map[string]bool{}
	}
	if b.seen[string(value)] {
		return false
	}
	b.seen[string(value)] = true
	return true
}

// addBase64 adds the three forms that value has inside base64 of a longer text, by its
// offset. Characters at the edges, which depend on the neighbours, are left out.
func (b *Book) addBase64(value []byte) {
	for before := range 3 {
		text := append(make([]byte, before), value...)
		encoded := base64.StdEncoding.EncodeToString(text[:len(text)/3*3])
		piece := encoded[min((before*8+5)/6, len(encoded)):]
		b.x.add([]byte(piece))
		if forURL := strings.NewReplacer("+", "-", "/", "_").Replace(piece); forURL != piece {
			b.x.add([]byte(forURL))
		}
	}
}

// Patterns of files with secrets.
var (
	encryption = lazy(`kind: *"?EncryptionConfiguration`)
	encrypting = lazy(`secret: *"?([A-Za-z0-9+/=]{20,})`)
	packed     = lazy(`[A-Za-z0-9+/]{64,}={0,2}`)
)

// deepest is the number of nested base64 encodings: a key in a kubeconfig
// in a record of ours.
const deepest = 3

// AddFile notes the secrets that a file has: private keys in PEM and in kubeconfigs,
// tokens, hashes of passwords, keys that Secrets are encrypted with.
func (b *Book) AddFile(text []byte) { b.addFile(text, deepest) }

func (b *Book) addFile(text []byte, deep int) {
	b.addKeys(text)
	if encryption().Match(text) {
		for _, m := range encrypting().FindAllSubmatch(text, -1) {
			b.Add(m[1])
			if raw, err := base64.StdEncoding.DecodeString(string(m[1])); err == nil {
				b.Add(raw)
			}
		}
	}
	for _, m := range jwtForm().FindAllSubmatch(text, -1) {
		b.Add(m[1][bytes.LastIndexByte(m[1], '.')+1:]) // its signature: all else is no secret
	}
	for _, form := range []*regexp.Regexp{codeForm(), hashForm()} {
		for _, m := range form.FindAllSubmatch(text, -1) {
			b.Add(m[1])
		}
	}
	if deep == 0 {
		return
	}
	for _, m := range packed().FindAll(text, -1) {
		inner, err := base64.StdEncoding.DecodeString(string(m))
		if err == nil && looksLikeText(inner) {
			b.addFile(inner, deep-1)
		}
	}
}

func looksLikeText(data []byte) bool { return bytes.IndexByte(data, 0) < 0 }

// addKeys adds the private keys in a PEM text: of each the part that is not in its
// certificates.
func (b *Book) addKeys(text []byte) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if !strings.Contains(block.Type, "PRIVATE KEY") {
			continue
		}
		from, to := private(block)
		b.Add(block.Bytes[from:to])
		// The text may be encoded in base64 again, in lines like PEM.
		encoded := base64.StdEncoding.EncodeToString(block.Bytes)[(from*8+5)/6 : to*8/6]
		for _, lines := range wrapped(encoded, (from*8+5)/6) {
			b.addBase64([]byte(lines))
		}
	}
	if armor := armored().FindSubmatch(text); armor != nil {
		b.Add(armor[1])
	}
}

// armored is an OpenPGP key from its third line on: before that are public numbers.
var armored = lazy(`-----BEGIN PGP PRIVATE KEY BLOCK-----[\s\S]*?\n\n(?:[^\n]+\n){2}([\s\S]*?)\n-----END PGP`)

// wrapped is a piece of a PEM text's characters, from the one at first on, with the
// line ends that it has there: of Unix, and of Windows.
func wrapped(piece string, first int) []string {
	const width = 64
	var unix strings.Builder
	for i := range len(piece) {
		if at := first + i; i > 0 && at%width == 0 {
			unix.WriteByte('\n')
		}
		unix.WriteByte(piece[i])
	}
	return []string{unix.String(), strings.ReplaceAll(unix.String(), "\n", "\r\n")}
}

// private is where in a block's bytes the private numbers are; all of it where no
// parser tells.
func private(block *pem.Block) (from, to int) {
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	}
	if err != nil {
		key, err = x509.ParseECPrivateKey(block.Bytes)
	}
	if err != nil {
		return 0, len(block.Bytes)
	}
	number, more := []byte(nil), false
	switch k := key.(type) {
	case *ecdsa.PrivateKey:
		number, _ = k.Bytes()
	case *rsa.PrivateKey:
		number, more = k.D.Bytes(), true // the primes come after it
	case ed25519.PrivateKey:
		number = k.Seed()
	}
	at := bytes.Index(block.Bytes, number)
	if len(number) == 0 || at < 0 {
		return 0, len(block.Bytes)
	}
	if more {
		return at, len(block.Bytes)
	}
	return at, at + len(number)
}
