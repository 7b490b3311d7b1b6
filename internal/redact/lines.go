package redact

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
)

// A line of more than longest bytes is cut there, with a note in its place. A secret
// at the cut may not be recognized, so the last reserve bytes before it are left
// out, too.
const (
	longest = 256 << 10
	reserve = 4 << 10
)

// lines removes text that looks like a secret, line by line.
type lines struct {
	w io.Writer
	r *Redactor

	line  []byte // so far
	over  int64  // bytes of it beyond longest, which are left out
	state state
}

func (l *lines) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			l.take(p)
			break
		}
		l.take(p[:end])
		if err := l.end("\n"); err != nil {
			return 0, err
		}
		p = p[end+1:]
	}
	return n, nil
}

func (l *lines) take(p []byte) {
	room := min(len(p), longest-len(l.line))
	l.line = append(l.line, p[:room]...)
	l.over += int64(len(p) - room)
}

func (l *lines) end(after string) error {
	keep := len(l.line)
	if l.over > 0 {
		keep -= reserve
		after = fmt.Sprintf("[cut: %d more bytes of this line]", l.over+reserve) + after
	}
	err := l.write(l.r.spans(l.line, &l.state), keep)
	if err == nil && after != "" {
		_, err = io.WriteString(l.w, after)
	}
	l.line, l.over = l.line[:0], 0
	return err
}

// write hands on the first keep bytes of the line without the spans.
func (l *lines) write(spans []span, keep int) error {
	var out []byte
	at := 0
	for _, s := range spans {
		if s.from >= keep {
			break
		}
		out = append(out, l.line[at:s.from]...)
		out = append(out, mark(s.kind)...)
		l.r.count(s.kind)
		at = s.to
	}
	if at < keep {
		out = append(out, l.line[at:keep]...)
	}
	_, err := l.w.Write(out)
	return err
}

func (l *lines) Close() error {
	if len(l.line) == 0 && l.over == 0 {
		return nil
	}
	return l.end("")
}

// span is a secret in a line.
type span struct {
	from, to int
	kind     Kind
}

// merged are the spans in order, and those that touch each other as one: of the
// kind of the first.
func merged(all []span) []span {
	slices.SortFunc(all, func(a, b span) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	var out []span
	for _, s := range all {
		if s.from >= s.to {
			continue
		}
		if n := len(out); n > 0 && s.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}
