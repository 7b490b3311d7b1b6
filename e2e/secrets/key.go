package secrets

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"regexp"

	"golang.org/x/crypto/ssh"
)

// keyPieces returns byte sequences that reveal the private keys in a PEM text, and that
// their certificates do not contain. These are the private number itself, and characters
// of the text that encode only that number, as they are and encoded in base64 again.
func keyPieces(text []byte) [][]byte {
	var all [][]byte
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if !bytes.HasSuffix([]byte(block.Type), []byte("PRIVATE KEY")) {
			continue
		}
		from, to := private(block)
		all = append(all, block.Bytes[from:to])
		line := longestLine(from, to)
		written := []byte(base64.StdEncoding.EncodeToString(block.Bytes)[line.from:line.to])
		all = append(append(all, written), inBase64(written)...)
	}
	return append(all, armored(text)...)
}

// private returns the position of the private number in the bytes of a block. If no
// parser finds the number, it returns the middle, where it is in all formats that begin
// with the public parts.
func private(block *pem.Block) (from, to int) {
	number := privateNumber(block)
	if at := bytes.Index(block.Bytes, number); len(number) > 0 && at >= 0 {
		return at, at + len(number)
	}
	middle := len(block.Bytes) / 2
	return middle - min(16, middle), middle + min(16, middle)
}

func privateNumber(block *pem.Block) []byte {
	var key any
	var err error
	switch block.Type {
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	case "OPENSSH PRIVATE KEY":
		key, err = ssh.ParseRawPrivateKey(pem.EncodeToMemory(block))
	default:
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	}
	if err != nil {
		return nil
	}
	switch k := key.(type) {
	case *ecdsa.PrivateKey:
		number, _ := k.Bytes()
		return number
	case *rsa.PrivateKey:
		return k.Primes[0].Bytes()
	case ed25519.PrivateKey:
		return k.Seed()
	case *ed25519.PrivateKey:
		return k.Seed()
	}
	return nil
}

// span is a range of a base64 text without line breaks.
type span struct{ from, to int }

// longestLine returns the longest run of characters in one line of a PEM text that encode
// only the bytes from..to, at most 40 characters.
func longestLine(from, to int) span {
	const width, most = 64, 40
	first, end := (from*8+5)/6, to*8/6
	best := span{}
	for at := first; at < end; {
		stop := min((at/width+1)*width, end, at+most)
		if stop-at > best.to-best.from {
			best = span{at, stop}
		}
		at = max(stop, min((at/width+1)*width, end))
	}
	return best
}

// armored returns a piece of the middle line of an OpenPGP key, where the private numbers
// are.
func armored(text []byte) [][]byte {
	if !bytes.Contains(text, []byte("BEGIN PGP PRIVATE KEY BLOCK")) {
		return nil
	}
	lines := regexp.MustCompile(`(?m)^[A-Za-z0-9+/]{60,76}$`).FindAll(text, -1)
	if len(lines) < 3 {
		return nil
	}
	line := lines[len(lines)/2][:40]
	return append([][]byte{line}, inBase64(line)...)
}

// AnyKey matches the header of any private key, to find keys that no book has. The files of
// programs that handle keys contain the header too: check them with LooksLikeKey.
func AnyKey() Secret {
	return Secret{Kind: Key, Name: anyKey, pieces: [][]byte{[]byte("PRIVATE KEY-----\n"), []byte("PRIVATE KEY BLOCK-----\n")}}
}

const anyKey = "unknown key"

// IsAnyKey reports whether a secret is AnyKey.
func (s Secret) IsAnyKey() bool { return s.Name == anyKey }
