// Package secrets finds secrets where they must not be. It knows the secrets that a
// scenario planted and those that the servers generated, in every form in which they may
// be written. It searches for all of them at once in files, in logs, and in the arguments
// and environments of programs.
//
// A Book is the list of secrets. A Collector adds those of a server, Add those of a
// scenario. A Search finds the book's secrets in bytes, and a Scan in whole trees of files.
// Judge applies the rules in rules.go to a finding. This package never prints a secret:
// findings have its name.
package secrets

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Kind is the purpose of a secret. Rules allow a kind at a place.
type Kind string

const (
	Code          Kind = "join token"
	Seal          Kind = "seal of a join token" // opens the keys in a Secret: the cluster must not know it
	Password      Kind = "password"
	Ambient       Kind = "password in a shell's environment"
	Key           Kind = "private key"
	SigningKey    Kind = "the builder's signing key"
	Token         Kind = "service account token"
	EncryptionKey Kind = "encryption key"
	Object        Kind = "Secret object" // the data of a Secret of the cluster
	Control       Kind = "control"       // planted to prove that the search finds it
)

// Secret is a secret with a name that may be printed.
type Secret struct {
	Kind Kind
	Name string

	pieces [][]byte // a text that contains any of them reveals the secret
}

// minimal is the shortest length of a secret: shorter ones would match other texts by
// chance.
const minimal = 12

// Book is a list of secrets. Several goroutines may use it.
type Book struct {
	mu   sync.Mutex
	list []Secret
	have map[string]bool // values
}

// Add adds a value. A value that the book has already keeps its first name.
func (b *Book) Add(kind Kind, name, value string) error {
	if len(value) < minimal {
		return fmt.Errorf("add secret %s: it has %d characters, want at least %d: a shorter one would match other texts by chance", name, len(value), minimal)
	}
	b.note(Secret{Kind: kind, Name: name, pieces: forms([]byte(value))}, value)
	return nil
}

// AddKey adds the private keys in a PEM file.
func (b *Book) AddKey(kind Kind, name string, text []byte) error {
	pieces := keyPieces(text)
	if len(pieces) == 0 {
		return errors.New("add secret " + name + ": it has no private key")
	}
	b.note(Secret{Kind: kind, Name: name, pieces: pieces}, string(text))
	return nil
}

func (b *Book) note(s Secret, value string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.have == nil {
		b.have = map[string]bool{}
	}
	if !b.have[value] {
		b.have[value] = true
		b.list = append(b.list, s)
	}
}

// List returns a copy of the current list.
func (b *Book) List() []Secret {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.list)
}

// forms returns the encodings of a value: as it is, in hexadecimal, in base64 alone, and
// in the base64 of a longer text.
func forms(value []byte) [][]byte {
	all := [][]byte{value, []byte(hex.EncodeToString(value))}
	return append(all, inBase64(value)...)
}

// inBase64 returns the pieces of the base64 of any text that contains value. There are
// three, since the encoding depends on the position modulo 3. Characters at the edges that
// also encode bytes before or after value are left out.
func inBase64(value []byte) [][]byte {
	var all [][]byte
	for before := range 3 {
		text := append(bytes.Repeat([]byte{0}, before), value...)
		encoded := base64.StdEncoding.EncodeToString(text[:len(text)/3*3])
		from := (before*8 + 5) / 6 // the first character that encodes only bytes of value
		if piece := encoded[min(from, len(encoded)):]; len(piece) >= minimal {
			all = append(all, []byte(piece))
		}
	}
	return all
}
