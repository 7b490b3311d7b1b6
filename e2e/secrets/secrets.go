// Package secrets finds secrets where they must not be: it knows what was
// planted and what the servers made themselves, in every form in which it may
// be written, and looks for all of it at once in files, in logs and in what
// programs were started with.
//
// A Book is the list of what to look for. Collect fills it from a server, Add
// from what a scenario knows. A Search finds the book's secrets in bytes; Scan
// takes it over whole trees and judges each place by the rules in rules.go.
// Nothing in this package ever prints a secret: findings have its name.
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

// Kind is what a secret is for; rules say where each kind may be.
type Kind string

const (
	Code          Kind = "one-time code"
	Seal          Kind = "seal of a one-time code" // opens the keys in a Secret: the cluster must not know it
	Password      Kind = "password"
	Ambient       Kind = "password in a shell's environment"
	Key           Kind = "private key"
	SigningKey    Kind = "the builder's signing key"
	Token         Kind = "service account token"
	EncryptionKey Kind = "encryption key"
	Object        Kind = "Secret object" // what is in a Secret of the cluster
	Control       Kind = "control"       // planted to be found
)

// Secret is one thing to look for, by a name that may be shown.
type Secret struct {
	Kind Kind
	Name string

	pieces [][]byte // any of them gives it away
}

// minimal is the length of the shortest secret: a shorter one would be found by
// chance.
const minimal = 12

// Book is a list of secrets. It may be used by several goroutines.
type Book struct {
	mu   sync.Mutex
	list []Secret
	have map[string]bool // values
}

// Add notes a value. One that is known already stays under its first name.
func (b *Book) Add(kind Kind, name, value string) error {
	if len(value) < minimal {
		return fmt.Errorf("look for %s: a secret of %d characters would be found by chance; want %d", name, len(value), minimal)
	}
	b.note(Secret{Kind: kind, Name: name, pieces: forms([]byte(value))}, value)
	return nil
}

// AddKey notes the private keys in a PEM file.
func (b *Book) AddKey(kind Kind, name string, text []byte) error {
	pieces := keyPieces(text)
	if len(pieces) == 0 {
		return errors.New("look for " + name + ": it holds no private key")
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

// List is what the book holds now.
func (b *Book) List() []Secret {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.list)
}

// forms are the ways in which a value may be written: as it is, in hexadecimal,
// in base64 by itself and as a part of something larger.
func forms(value []byte) [][]byte {
	all := [][]byte{value, []byte(hex.EncodeToString(value))}
	return append(all, inBase64(value)...)
}

// inBase64 is what stands in the base64 of a text that has value in it
// somewhere, which depends on where: three possibilities. Characters at the
// edges, which the neighbours have a part in, are left out.
func inBase64(value []byte) [][]byte {
	var all [][]byte
	for before := range 3 {
		text := append(bytes.Repeat([]byte{0}, before), value...)
		encoded := base64.StdEncoding.EncodeToString(text[:len(text)/3*3])
		from := (before*8 + 5) / 6 // the first character with nothing of the neighbour's
		if piece := encoded[min(from, len(encoded)):]; len(piece) >= minimal {
			all = append(all, []byte(piece))
		}
	}
	return all
}
