package workload

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Split splits a stream into documents as kubectl does: at each line that starts with
// "---" and has only a comment after it. It also accepts two forms of YAML: text after
// "--- ", and "...", which ends a document. JSON objects need no separator.
func Split(file string, stream []byte) ([]Document, error) {
	if objects := jsonObjects(stream); len(objects) > 1 {
		return numbered(file, stream, objects), nil
	}
	// Concatenated files can have a byte order mark before each document.
	stream = bytes.ReplaceAll(stream, []byte("\n\xEF\xBB\xBF"), []byte("\n"))
	s := splitter{file: file, stream: stream}
	for at := 0; at < len(stream); {
		end := len(stream)
		if n := bytes.IndexByte(stream[at:], '\n'); n >= 0 {
			end = at + n + 1
		}
		s.line++
		s.add(at, end)
		at = end
	}
	s.close(len(stream))
	return s.all, errors.Join(s.errs...)
}

type splitter struct {
	file   string
	stream []byte
	all    []Document
	errs   []error

	line   int  // current line, from 1
	begin  int  // start offset of the document
	first  int  // first line of the document; 0 for the first line of the file
	marked bool // a separator is before the document
}

// add processes the line between two offsets.
func (s *splitter) add(at, end int) {
	line := s.stream[at:end]
	rest, dashes := bytes.CutPrefix(line, []byte("---"))
	switch {
	case dashes && len(rest) > 0 && rest[0] == '#': // not a separator in YAML, so the document does not include it
		s.next(at, at+len("---"), s.line)
	case isMark(line, "---"):
		s.next(at, at, s.line)
	case dashes:
		s.errs = append(s.errs, fmt.Errorf("%s, line %d: %.40q is not a document separator: write --- on a separate line", s.file, s.line, bytes.TrimSpace(line)))
	case isMark(line, "..."):
		s.close(at)
		s.begin, s.first, s.marked = end, s.line+1, false
	}
}

// next ends a document at a separator, unless only comments and directives are before the
// first one. An empty document between two separators has a number, because users count
// separators.
func (s *splitter) next(end, begin, line int) {
	if s.marked || hasContent(s.stream[s.begin:end]) {
		s.close(end)
		s.first, s.begin = line, begin
	}
	if begin != end {
		s.first, s.begin = line, begin
	}
	s.marked = true
}

func (s *splitter) close(end int) {
	s.all = append(s.all, Document{File: s.file, Number: len(s.all) + 1, Line: max(s.first, 1), Text: s.stream[s.begin:end]})
}

func isMark(line []byte, mark string) bool {
	rest, is := bytes.CutPrefix(line, []byte(mark))
	return is && (len(rest) == 0 || strings.ContainsRune(" \t\r\n", rune(rest[0])))
}

// hasContent reports whether a text has more than comments, directives and empty lines.
func hasContent(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF")))
		if len(line) > 0 && line[0] != '#' && line[0] != '%' {
			return true
		}
	}
	return false
}

// jsonObjects returns the objects of a stream that consists of JSON objects, otherwise nil.
func jsonObjects(stream []byte) []json.RawMessage {
	if text := bytes.TrimSpace(stream); len(text) == 0 || text[0] != '{' {
		return nil
	}
	var all []json.RawMessage
	for d := json.NewDecoder(bytes.NewReader(stream)); ; {
		var one json.RawMessage
		err := d.Decode(&one)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil || one[0] != '{' {
			return nil
		}
		all = append(all, one)
	}
}

func numbered(file string, stream []byte, objects []json.RawMessage) []Document {
	var all []Document
	line := 1
	for i, one := range objects {
		at := bytes.Index(stream, one)
		line += bytes.Count(stream[:at], []byte("\n"))
		all = append(all, Document{File: file, Number: i + 1, Line: line, Text: one})
		line += bytes.Count(one, []byte("\n"))
		stream = stream[at+len(one):]
	}
	return all
}
