// Package filelist reads the files of packages from the file lists of repositories, and compares files that two
// packages have under one path, as rpm does before a transaction.
//
// A file list has only paths and kinds, so it can tell that two packages cannot conflict. Whether two files under
// one path are the same is in the headers of the packages.
package filelist

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Kind is the kind of a file in a file list.
type Kind byte

// The kinds of createrepo_c. Links and devices are files.
const (
	File Kind = iota
	Directory
	Ghost
)

// Meets reports whether files of these kinds under one path can conflict. rpm accepts a ghost next to anything. Two
// directories conflict only if their modes or owners differ, which almost no packages have: that is left to the
// test on the server.
func (k Kind) Meets(other Kind) bool {
	return k != Ghost && other != Ghost && (k == File || other == File)
}

// ErrDamaged is an element that is no list of files.
var ErrDamaged = errors.New("the file list is damaged")

// maxPath is the limit of Linux for a path, in bytes.
const maxPath = 4096

// Each calls f with each file of a <package> element of filelists.xml. The path is valid until f returns.
func Each(element []byte, f func(path []byte, kind Kind)) error {
	const start, end = "<file", "</file>"
	for {
		at := bytes.Index(element, []byte(start))
		if at < 0 {
			return nil
		}
		element = element[at+len(start):]
		tag := bytes.IndexByte(element, '>')
		if tag < 0 {
			return ErrDamaged
		}
		attributes := element[:tag]
		element = element[tag+1:]
		if len(attributes) > 0 && !isSpace(attributes[0]) {
			if attributes[0] == '/' { // <file/>
				continue
			}
			return ErrDamaged
		}
		stop := bytes.Index(element, []byte(end))
		if stop < 0 {
			return ErrDamaged
		}
		path, err := unescape(element[:stop])
		if err != nil {
			return err
		}
		element = element[stop+len(end):]
		if len(path) > 0 && len(path) <= maxPath {
			f(path, kindOf(attributes))
		}
	}
}

// Merged returns the path in /usr for a path in /bin, /sbin, /lib or /lib64, which are links into /usr on all Enterprise
// Linux servers: rpm compares directories by their inode.
func Merged(path string) string {
	for _, dir := range []string{"/bin/", "/sbin/", "/lib/", "/lib64/"} {
		if strings.HasPrefix(path, dir) {
			return "/usr" + path
		}
	}
	return path
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\n' || b == '\r' }

func kindOf(attributes []byte) Kind {
	_, value, _ := bytes.Cut(attributes, []byte("type="))
	switch value = bytes.TrimLeft(value, `"'`); {
	case bytes.HasPrefix(value, []byte("dir")):
		return Directory
	case bytes.HasPrefix(value, []byte("ghost")):
		return Ghost
	}
	return File
}

// unescape replaces the entities of XML.
func unescape(text []byte) ([]byte, error) {
	if bytes.IndexByte(text, '<') >= 0 {
		return nil, ErrDamaged
	}
	if bytes.IndexByte(text, '&') < 0 {
		return text, nil
	}
	var all []byte
	for {
		before, rest, found := bytes.Cut(text, []byte("&"))
		all = append(all, before...)
		if !found {
			return all, nil
		}
		name, after, ended := bytes.Cut(rest, []byte(";"))
		r, known := entity(string(name[:min(len(name), 10)]))
		if !ended || !known {
			return nil, ErrDamaged
		}
		all, text = utf8.AppendRune(all, r), after
	}
}

func entity(name string) (rune, bool) {
	switch name {
	case "amp":
		return '&', true
	case "lt":
		return '<', true
	case "gt":
		return '>', true
	case "quot":
		return '"', true
	case "apos":
		return '\'', true
	}
	number, is := strings.CutPrefix(name, "#")
	base := 10
	if hex, isHex := strings.CutPrefix(number, "x"); isHex {
		number, base = hex, 16
	}
	n, err := strconv.ParseUint(number, base, 32)
	return rune(n), is && err == nil && n > 0 && n <= utf8.MaxRune
}
