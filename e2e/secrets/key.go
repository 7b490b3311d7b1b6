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

// keyPieces are what gives the private keys in a PEM text away, and is in none
// of their certificates: the private number itself, and characters of the text
// that encode nothing else, as they are and in base64 once more.
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

// private is where in a block's bytes the private number is: by asking the
// parsers, else the middle, where all formats have it that put public parts
// first.
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

// span is a piece of a base64 text without line ends.
type span struct{ from, to int }

// longestLine is the longest run of characters that encode nothing but the
// bytes from..to and stand in one line of a PEM text; 40 are plenty.
func longestLine(from, to int) span {
	const width, plenty = 64, 40
	first, end := (from*8+5)/6, to*8/6
	best := span{}
	for at := first; at < end; {
		stop := min((at/width+1)*width, end, at+plenty)
		if stop-at > best.to-best.from {
			best = span{at, stop}
		}
		at = max(stop, min((at/width+1)*width, end))
	}
	return best
}

// armored is a line of an OpenPGP key, from the second third, where the private
// numbers are.
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

// AnyKey stands for a private key that nobody noted: the mark at its beginning.
// Programs that handle keys have it too; LooksLikeKey tells.
func AnyKey() Secret {
	return Secret{Kind: Key, Name: anyKey, pieces: [][]byte{[]byte("PRIVATE KEY-----\n"), []byte("PRIVATE KEY BLOCK-----\n")}}
}

const anyKey = "one that nobody noted"

// IsAnyKey reports whether a secret is AnyKey.
func (s Secret) IsAnyKey() bool { return s.Name == anyKey }
