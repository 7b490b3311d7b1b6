// Package support creates support bundles. A support bundle is one archive of plain files, without secrets and at
// most 20 MB large. It is for people who help with a host without access to it.
//
// The input is a list of Parts, each with a time limit and a size limit, and a Redactor. The output is a tar.gz with
// a file for each part that has content, and three files that describe the archive: README.txt, index.html and
// contents.json. They report each part that fails, hangs or panics. Such a part does not stop the others, so the
// only errors are errors of writing the archive.
//
// There are no temporary files: a few parts are collected at the same time in memory, and each is written to the
// archive in the order of the list.
package support

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// MaxSize is the maximum size of an archive in bytes. Most mail gateways and ticket systems accept 20 MB, which base64
// encodes as 27 MB.
const MaxSize = 20_000_000

// Part is one file of the archive.
type Part struct {
	Name  string // of the file in the archive: "logs/kubelet.log"
	Title string // description for the reader
	// Limit is the maximum time of Write. If Write ignores its context, the archive does not wait for it.
	Limit time.Duration
	// Room is the maximum size of the text in bytes. The first bytes are kept, or the last bytes of a log.
	Room int
	Log  bool
	// Midway means that the text may begin in the middle of a secret.
	Midway bool
	// Write writes the text. Text before an error is kept. An error of NotPresent means that the host has no such data.
	Write func(ctx context.Context, w io.Writer) error
}

// State is the result of collecting a part.
type State string

const (
	Whole      State = "whole"
	Cut        State = "cut"        // it was longer than Room
	Incomplete State = "incomplete" // an error or the time limit stopped it
	Missing    State = "missing"    // an error, and no text
	None       State = "none"       // this host has no such data
)

// File describes a part in the archive.
type File struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	State State  `json:"state"`
	Bytes int    `json:"bytes"`          // uncompressed size; 0: the archive does not have the file
	Left  int64  `json:"left,omitempty"` // bytes that were removed to shorten it
	Why   string `json:"why,omitempty"`  // the reason if State is not Whole
}

// noneError means that the host has no such data.
type noneError struct{ why string }

func (e noneError) Error() string { return e.why }

// NotPresent returns the error of a part for which this host has no data. The text is the reason.
func NotPresent(format string, args ...any) error { return noneError{fmt.Sprintf(format, args...)} }

// judge returns the state of a part with this text and error, and the reason.
func judge(text []byte, left int64, err error) (State, string) {
	var none noneError
	switch {
	case errors.As(err, &none) && len(text) == 0:
		return None, none.why
	case err == nil && len(text) == 0:
		return None, "it is empty"
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
