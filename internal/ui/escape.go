package ui

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Escaper writes text that may be foreign, such as another host's error or a pod's log, so
// that it cannot move the cursor, hide lines or change their order. Characters that a
// terminal acts upon are written as \u001b, bytes that are no UTF-8 as \x9b. Line ends and
// tabs stay, so does JSON, and a CR before a line end is left out.
type Escaper struct {
	w io.Writer

	mu   sync.Mutex
	left []byte // the begin of a character, or a CR, that the next Write decides about
}

// NewEscaper writes to w.
func NewEscaper(w io.Writer) *Escaper { return &Escaper{w: w} }

// Unwrap returns the writer below the Escaper.
func (e *Escaper) Unwrap() io.Writer { return e.w }

// Write implements io.Writer.
func (e *Escaper) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	text := append(e.left, p...)
	whole := len(text) - unfinished(text)
	e.left = append([]byte(nil), text[whole:]...)
	if _, err := io.WriteString(e.w, Escape(string(text[:whole]))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes the incomplete rest of the last Write.
func (e *Escaper) Flush() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	text := string(e.left)
	e.left = nil
	if text == "" {
		return nil
	}
	_, err := io.WriteString(e.w, Escape(text))
	return err
}

// Escaped has write write to w through an Escaper.
func Escaped(w io.Writer, write func(io.Writer) error) error {
	e := NewEscaper(w)
	return errors.Join(write(e), e.Flush())
}

// unfinished returns the number of bytes at the end that the next Write may complete.
func unfinished(text []byte) int {
	if len(text) > 0 && text[len(text)-1] == '\r' {
		return 1
	}
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if tail := text[len(text)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// Escape is the text as an Escaper writes it.
func Escape(text string) string {
	if !strings.ContainsFunc(text, acts) && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case r == '\r' && strings.HasPrefix(text[1:], "\n"):
		case !acts(r):
			b.WriteRune(r)
		default:
			for _, unit := range utf16.Encode([]rune{r}) { // as JSON has it
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		}
		text = text[size:]
	}
	return b.String()
}

// acts reports whether a terminal, or a page, does something for the character instead of
// showing it: controls, and formats such as those that reverse the direction of writing.
func acts(r rune) bool {
	return r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// escapedLine is Escape for one line.
func escapedLine(text string) string {
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(Escape(text))
}
