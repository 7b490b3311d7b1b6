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
	Idle // nothing happens there yet
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
	t := &shownTable{}
	t.table = b.newTable("all good", func() (string, []Line) {
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.heading, t.lines
	})
	return t
}

// shownTable shows the lines that it was given last.
type shownTable struct {
	*table

	mu      sync.Mutex
	heading string
	lines   []Line
}

func (t *shownTable) Show(heading string, lines []Line) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.heading, t.lines = heading, lines
}

func (t *shownTable) End() { t.bar.Abort(true) }

// table is one bar whose extension is the lines. It asks for them each time it is drawn.
type table struct {
	bar      *mpb.Bar
	terminal *os.File
	color    bool
	rest     string // describes the lines that do not fit
	content  func() (heading string, lines []Line)
}

// newTable adds a table to a terminal.
func (b *bars) newTable(rest string, content func() (string, []Line)) *table {
	t := &table{terminal: b.terminal, color: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb", rest: rest, content: content}
	heading := mpb.BarFillerFunc(func(w io.Writer, s decor.Statistics) error { return t.head(w, s.AvailableWidth) })
	rows := mpb.BarFillerFunc(func(w io.Writer, s decor.Statistics) error { return t.rows(w, s.AvailableWidth) })
	t.bar = b.p.MustAdd(0, heading, mpb.BarExtender(rows, false), mpb.BarFillerTrim())
	return t
}

func (t *table) head(w io.Writer, width int) error {
	heading, _ := t.content()
	_, err := io.WriteString(w, cut(heading, width))
	return err
}

func (t *table) rows(w io.Writer, width int) error {
	_, all := t.content()
	lines, left := fit(all, t.height()-4) // the heading, the messages, the current work, the cursor
	names, marks := 0, len("broken")      // the words that most tables have, so that no column jumps
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
		if _, err := fmt.Fprintln(w, cut(fmt.Sprintf("and %d more, %s", left, t.rest), width)); err != nil {
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

// fit leaves out good and idle lines, the last ones first, until room is enough. If that is not enough, it leaves out
// the last lines, because a table with more rows than the terminal cannot be redrawn. left is the number of lines left out.
func fit(lines []Line, room int) (some []Line, left int) {
	over := len(lines) - room
	if over <= 0 {
		return lines, 0
	}
	over++ // for the line that counts them
	for _, l := range slices.Backward(lines) {
		if (l.Tone == Good || l.Tone == Idle) && left < over {
			left++
			continue
		}
		some = append(some, l)
	}
	slices.Reverse(some)
	if keep := max(room-1, 1); len(some) > keep {
		left += len(some) - keep
		some = some[:keep]
	}
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
