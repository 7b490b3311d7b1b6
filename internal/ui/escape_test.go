package ui_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"airgap.dev/airgap/internal/ui"
)

// foreign are texts that do something to a terminal, and how they are shown.
func foreign() map[string]string {
	return map[string]string{
		"\x1b[2J\x1b[H":                `\u001b[2J\u001b[H`,               // CSI: clears the screen
		"\x1b]0;title\x07":             `\u001b]0;title\u0007`,            // OSC: the window's title
		"\x1b]52;c;cm0gLXJmIC8=\x1b\\": `\u001b]52;c;cm0gLXJmIC8=\u001b\`, // OSC 52: the clipboard
		"\x1bP+q\x1b\\":                `\u001bP+q\u001b\`,                // DCS
		"\u009b31mred":                 `\u009b31mred`,                    // C1 CSI as UTF-8
		"\x9b31mred":                   `\x9b31mred`,                      // and as a byte
		"failed\rok    ":               `failed\u000dok    `,              // writes over the line
		"abc\b\b\bxyz":                 `abc\u0008\u0008\u0008xyz`,        // the same
		"a\x00b\x7fc":                  `a\u0000b\u007fc`,                 //
		"\x0e\x0f\v\f":                 `\u000e\u000f\u000b\u000c`,        // other character sets
		"node\u202egpj.exe":            `node\u202egpj.exe`,               // bidi override
		"\u2066x\u2069\u200f\u061c":    `\u2066x\u2069\u200f\u061c`,       // bidi isolates and marks
		"a\u200bb\ufeff":               `a\u200bb\ufeff`,                  // of no width
		"line\u2028line\u2029":         `line\u2028line\u2029`,            //
		"\U000e0041":                   `\udb40\udc41`,                    // tags
		"bad\xff\xfe\xc3(":             `bad\xff\xfe\xc3(`,                // no UTF-8
		"a line\r\nanother\r\n":        "a line\nanother\n",               //
		"노드 준비됨\t예\nplain text, café":  "노드 준비됨\t예\nplain text, café",     // stays
		"\ufffd":                       "\ufffd",
	}
}

func TestEscape(t *testing.T) {
	for text, want := range foreign() {
		if got := ui.Escape(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
		for i := range len(text) + 1 { // wherever it is cut
			var b bytes.Buffer
			e := ui.NewEscaper(&b)
			for _, part := range []string{text[:i], text[i:]} {
				if n, err := io.WriteString(e, part); n != len(part) || err != nil {
					t.Fatal(n, err)
				}
			}
			if err := e.Flush(); err != nil || b.String() != want {
				t.Errorf("%q, cut at %d, is shown as %q, want %q", text, i, b.String(), want)
			}
		}
	}
}

func TestEscapedJSONIsTheSame(t *testing.T) {
	for text := range foreign() {
		var b bytes.Buffer
		if err := json.NewEncoder(ui.NewEscaper(&b)).Encode(text); err != nil {
			t.Fatal(err)
		}
		var got string
		if err := json.Unmarshal(b.Bytes(), &got); err != nil || got != strings.ToValidUTF8(text, "\ufffd") && utf8.ValidString(text) {
			t.Errorf("%q came back as %q, %v: %s", text, got, err, &b)
		}
		harmless(t, "JSON", b.String())
	}
}

// TestProgressEscapes: names of hosts and their errors reach no terminal without escaping.
func TestProgressEscapes(t *testing.T) {
	const marker = "]52;c;"
	evil := "x\x1b" + marker + "AA\x07\u009b2J\u202e\rfine"
	for _, format := range []ui.Format{ui.Plain, ui.JSON} {
		var b bytes.Buffer
		p := ui.New(&b, format)
		p.Say("%s said %s", evil, evil)
		p.Task(evil, 1, false).End(errors.New(evil))
		h := p.Host(evil)
		h.Step(1, 2, evil)
		h.Now(evil)
		h.End(errors.New(evil))
		p.Step(1, 2, evil)
		p.Close()
		if !strings.Contains(b.String(), marker) {
			t.Errorf("%s: the text is not shown: %q", format, b.String())
		}
		harmless(t, string(format), b.String())
	}
}

func TestJUnitEscapes(t *testing.T) {
	for text := range foreign() {
		var b bytes.Buffer
		s := ui.Suite{Name: text}
		s.Add(ui.Case{Name: text, Failure: &ui.Problem{Message: text, Text: text}, Output: text})
		if err := errors.Join(ui.WriteJUnit(&b, s), ui.WriteJUnits(&b, []ui.Suite{s})); err != nil {
			t.Fatal(err)
		}
		harmless(t, "JUnit", b.String())
	}
}

func harmless(t testing.TB, where, shown string) {
	t.Helper()
	bad := func(r rune) bool {
		return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp))
	}
	if i := strings.IndexFunc(shown, bad); i >= 0 || !utf8.ValidString(shown) {
		t.Errorf("%s: a terminal acts on %q", where, shown)
	}
}

func FuzzEscape(f *testing.F) {
	for text := range foreign() {
		f.Add(text, 1)
	}
	f.Fuzz(func(t *testing.T, text string, cut int) {
		shown := ui.Escape(text)
		harmless(t, fmt.Sprintf("%q", text), shown)
		if again := ui.Escape(shown); again != shown {
			t.Errorf("%q is shown as %q, and that as %q", text, shown, again)
		}
		cut = min(max(cut, 0), len(text))
		var b bytes.Buffer
		if err := ui.Escaped(&b, func(w io.Writer) error {
			_, err := io.WriteString(w, text[:cut])
			_, more := io.WriteString(w, text[cut:])
			return errors.Join(err, more)
		}); err != nil || b.String() != shown {
			t.Errorf("%q, cut at %d, is shown as %q (%v), want %q", text, cut, b.String(), err, shown)
		}
	})
}
