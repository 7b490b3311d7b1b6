// Package redact removes secrets from text that leaves a host.
//
// A Redactor has two sources: patterns of secrets (forms.go, and gitleaks' rules), and the
// secrets of this host (known.go). Writer passes text
// on without them, in memory that does not grow with it; Gate does so with
// the known ones alone, for bytes that are no text or were written by ourselves.
// Where something was taken out stands [redacted:KIND], and Counts says how often.
//
// It removes too much rather than too little: a word of a log may go because of
// the word before it. A secret without a pattern that is not known stays: a password in the
// middle of a sentence is a word.
package redact

import (
	"io"
	"maps"
	"sync"
)

// Kind is the kind of removed text.
type Kind string

const (
	Key    Kind = "key"    // a private key in PEM or OpenPGP's armor
	Field  Kind = "field"  // the value of something called password, token, secret, …
	Token  Kind = "token"  // a JSON Web Token, or JSON in base64
	Header Kind = "header" // the value of an Authorization or Cookie header
	URL    Kind = "url"    // user and password in a URL
	Query  Kind = "query"  // a parameter of a URL that may sign it
	Code   Kind = "code"   // a bootstrap token, or airgap's code for joining
	Hash   Kind = "hash"   // of a password
	Object Kind = "secret" // data of a Kubernetes Secret
	Known  Kind = "known"  // one of this host's secrets, in any form
)

// Redactor takes secrets out. It may be used by several goroutines.
type Redactor struct {
	known  *index
	engine *engine

	mu     sync.Mutex
	counts map[Kind]int
}

// New makes one that knows the secrets in the book; nil is none.
func New(b *Book) *Redactor {
	return &Redactor{known: b.index(), engine: theEngine(), counts: map[Kind]int{}}
}

// Writer passes text to w without text that looks like a secret, and without the
// known secrets. It buffers text until its line is complete. Close writes the rest and
// leaves w open.
func (r *Redactor) Writer(w io.Writer) io.WriteCloser {
	return r.writer(w, false)
}

// Midway is Writer for text without its beginning: a key may have begun
// there.
func (r *Redactor) Midway(w io.Writer) io.WriteCloser {
	return r.writer(w, true)
}

func (r *Redactor) writer(w io.Writer, midway bool) io.WriteCloser {
	l := &lines{w: w, r: r}
	l.state.midway = midway
	return &decoder{next: chain{r.Gate(l), l}}
}

// Gate hands bytes on to w without the known secrets. Close writes the rest, and
// leaves w open.
func (r *Redactor) Gate(w io.Writer) io.WriteCloser {
	return &gate{w: w, index: r.known, found: r.count}
}

// Counts says how many of each kind were taken out so far.
func (r *Redactor) Counts() map[Kind]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.counts)
}

func (r *Redactor) count(k Kind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[k]++
}

func mark(k Kind) string { return "[redacted:" + string(k) + "]" }

// chain closes its writer before the writer after that.
type chain struct{ first, second io.WriteCloser }

func (c chain) Write(p []byte) (int, error) { return c.first.Write(p) }

func (c chain) Close() error {
	if err := c.first.Close(); err != nil {
		return err
	}
	return c.second.Close()
}
