package ui

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/mattn/go-runewidth"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"
)

// Tone is the meaning of a line's mark.
type Tone int

const (
	Neutral Tone = iota
	Good
	Bad
)

// Line is one line of a Table. Its mark is a word: not everybody sees colours.
type Line struct {
	Mark string
	Tone Tone
	Name string
	Text string // cut off where the terminal ends
}

// Table has lines that stay in their place and are redrawn there.
type Table interface {
	// Show replaces the lines, and the heading above them. Where the terminal
	// has too few rows for all, the good ones are counted instead.
	Show(heading string, lines []Line)
	// End takes the lines off the terminal.
	End()
}

// Table implements Progress.
func (p *plain) Table() Table { return nil }

// Table implements Progress.
func (p *jsonLines) Table() Table { return nil }

// Table implements Progress.
func (b *bars) Table() Table {
	if b.terminal == nil {
		return nil
	}
	t := &table{terminal: b.terminal, color: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
	heading := mpb.BarFillerFunc(func(w io.Writer, s decor.Statistics) error { return t.head(w, s.AvailableWidth) })
	rows := mpb.BarFillerFunc(func(w io.Writer, s decor.Statistics) error { return t.rows(w, s.AvailableWidth) })
	t.bar = b.p.MustAdd(0, heading, mpb.BarExtender(rows, false), mpb.BarFillerTrim())
	return t
}

// table is one bar whose extension is the lines.
type table struct {
	bar      *mpb.Bar
	terminal *os.File
	color    bool

	mu      sync.Mutex
	heading string
	lines   []Line
}

func (t *table) Show(heading string, lines []Line) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.heading, t.lines = heading, lines
}

func (t *table) End() { t.bar.Abort(true) }

func (t *table) head(w io.Writer, width int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, err := io.WriteString(w, cut(t.heading, width))
	return err
}

func (t *table) rows(w io.Writer, width int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines, left := fit(t.lines, t.height()-3) // the heading, the messages, the cursor
	names, marks := 0, len("broken")          // the words that most tables have, so that no column jumps
	for _, l := range lines {
		names, marks = max(names, len(l.Name)), max(marks, len(l.Mark))
	}
	for _, l := range lines {
		rest := cut(fmt.Sprintf("  %-*s  %s", names, l.Name, l.Text), width-marks)
		if _, err := fmt.Fprintf(w, "%s%s\n", t.paint(fmt.Sprintf("%-*s", marks, l.Mark), l.Tone), rest); err != nil {
			return err
		}
	}
	if left > 0 {
		if _, err := fmt.Fprintln(w, cut(fmt.Sprintf("and %d more, all good", left), width)); err != nil {
			return err
		}
	}
	return nil
}

func (t *table) height() int {
	_, rows, err := term.GetSize(int(t.terminal.Fd()))
	if err != nil || rows == 0 {
		return 24
	}
	return rows
}

// fit leaves out good lines, the last ones first, until room is enough; left is
// how many.
func fit(lines []Line, room int) (some []Line, left int) {
	over := len(lines) - room
	if over <= 0 {
		return lines, 0
	}
	over++ // for the line that counts them
	for _, l := range slices.Backward(lines) {
		if l.Tone == Good && left < over {
			left++
			continue
		}
		some = append(some, l)
	}
	slices.Reverse(some)
	return some, left
}

func (t *table) paint(word string, tone Tone) string {
	codes := map[Tone]string{Good: "32", Bad: "1;31"} // green; bold red
	if code := codes[tone]; t.color && code != "" {
		return "\x1b[" + code + "m" + word + "\x1b[0m"
	}
	return word
}

// cut makes one line of at most width columns of a text that may be foreign: it
// must not move the cursor.
func cut(text string, width int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return unicode.ReplacementChar
		}
		return r
	}, text)
	return runewidth.Truncate(text, max(width, 1), "…")
}
