// Package support puts together what somebody needs who is to help with a host and
// may not come near it: one archive of plain files, without secrets, of at most
// 20 MB.
//
// In flows a list of Parts, each with its own time and room, and a Redactor. Out
// flows a tar.gz with a file for each part that had something to say, and three that
// say what is in it: README.txt, index.html, contents.json. A part that fails, hangs
// or panics is told of there, and keeps no other back; so the only errors are those
// of writing the archive.
//
// Nothing is kept on a disk meanwhile: a few parts are collected at a time, each of at
// most its room in memory, and go into the archive in the order of the list.
package support

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// MaxSize is the largest archive in bytes: what mail gateways and ticket systems
// mostly let through (20 MB, and base64 makes it 27).
const MaxSize = 20_000_000

// Part is one file of the archive.
type Part struct {
	Name  string // of the file in the archive: "logs/kubelet.log"
	Title string // what it is, for people
	// Limit is the time that it may take. A part that does not heed its context is
	// left behind.
	Limit time.Duration
	// Room is how many bytes of its text are kept: the first ones, of a log the
	// newest.
	Room int
	Log  bool
	// Midway says that the text may begin in the middle of something.
	Midway bool
	// Write writes the text. What came before an error is kept. An error that is
	// None says that there is nothing to be had.
	Write func(ctx context.Context, w io.Writer) error
}

// State is what became of a part.
type State string

const (
	Whole      State = "whole"
	Cut        State = "cut"        // it had more than its room
	Incomplete State = "incomplete" // it ended with an error, or its time did
	Missing    State = "missing"    // there should be something, and nothing came
	None       State = "none"       // this host has no such thing
)

// File is a part as it is in the archive.
type File struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	State State  `json:"state"`
	Bytes int    `json:"bytes"`          // in the archive, before it is compressed; 0: there is no such file
	Left  int64  `json:"left,omitempty"` // bytes that were cut away
	Why   string `json:"why,omitempty"`  // it is not whole
}

// noneError says that a host has no such thing.
type noneError struct{ why string }

func (e noneError) Error() string { return e.why }

// NoneHere is the error of a part that this host has nothing for: the reason.
func NoneHere(format string, args ...any) error { return noneError{fmt.Sprintf(format, args...)} }

// judge says what became of a part that gave text and ended with err.
func judge(text []byte, left int64, err error) (State, string) {
	var none noneError
	switch {
	case errors.As(err, &none) && len(text) == 0:
		return None, none.why
	case err == nil && len(text) == 0:
		return None, "it says nothing"
	case err != nil && len(text) == 0:
		return Missing, err.Error()
	case err != nil:
		return Incomplete, err.Error()
	case left > 0:
		return Cut, ""
	default:
		return Whole, ""
	}
}
